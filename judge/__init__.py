"""Solutions in, verdicts out: final answers, the DSPy judge, and recorded judgements."""

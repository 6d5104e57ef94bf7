"""Problems in, solutions out: readers, prompts, engines, and the journal and study folder that every stage uses."""

import numpy as np
import pytest

from calibrate.estimate import Rows, Units, corrected


def test_ppi_equals_ppi_python() -> None:
    """Value, lambda and interval of three shares under one lambda, against ppi-python 0.2.3."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    from ppi_py.ppi import _calc_lam_glm

    rng = np.random.default_rng(0)
    for n, size in ((60, 300), (200, 5000), (100, 130)):
        truth, noise = rng.integers(0, 3, size), rng.integers(0, 3, size)
        judged = np.where(rng.random(size) < 0.7, truth, noise)
        failed = rng.random(size) < 0.05
        f, y = np.eye(3)[judged] * ~failed[:, None], np.eye(3)[truth]
        rows = Rows(Units(np.arange(size), np.zeros(size, dtype=int)), np.arange(n), np.ones(n))
        ours = corrected(rows, y[:n], f)
        assert ours.value == pytest.approx(ppi_mean_pointestimate(y[:n], f[:n], f[n:]), abs=1e-12)
        assert ours.of_one().value.sum() == pytest.approx(1, abs=1e-12)
        assert ours.lam == pytest.approx(_calc_lam_glm(y[:n], f[:n], f[n:], np.eye(3), clip=True), abs=1e-12)
        low, high = ppi_mean_ci(y[:n], f[:n], f[n:], alpha=0.05)
        scores = ours.scores / np.where(ours.labelled, n / (n - 1), size / (size - 1))[:, None] ** 0.5
        half = 1.959963984540054 * np.sqrt((scores**2).sum(axis=0))
        assert ours.value - half == pytest.approx(low, abs=1e-9)
        assert ours.value + half == pytest.approx(high, abs=1e-9)

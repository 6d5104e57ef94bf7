"""An installed wheel is whole, and the base install needs neither vLLM nor torch."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["generate", "judge", "calibrate", "conf", "pyproject.toml", "README.md", "LICENSE"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, source / part)
    words = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(source / "dist"), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, cwd=source)
    return next((source / "dist").glob("*.whl"))


def test_the_wheel_holds_all_that_the_packages_read(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(f.relative_to(ROOT))
        for part in ("generate", "judge", "calibrate", "conf")
        for f in (ROOT / part).rglob("*")
        if f.is_file() and f.suffix in (".py", ".yaml", ".json", ".html", ".css", ".js")
    }
    assert wanted <= inside, wanted - inside


def test_an_installed_wheel_works_from_any_folder_also_beside_a_users_own_conf(wheel, tmp_path):
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)],
        check=True,
    )
    here = tmp_path / "here"
    here.mkdir()
    (here / "conf.py").write_text("raise RuntimeError('the conf of somebody else')\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    for words in (["generate", "model=recorded", "limit=2"], ["judge", "program=none"], ["calibrate"]):
        done = subprocess.run([sys.executable, "-m", *words], cwd=here, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    said = subprocess.run(
        [sys.executable, "-c", "import generate; print(generate.__file__)"],
        cwd=here,
        env=env,
        capture_output=True,
        text=True,
    )
    assert said.stdout.startswith(str(tmp_path / "site"))
    assert sorted(p.name for p in here.iterdir() if p.name != "__pycache__") == ["conf.py", "studies"]


@pytest.mark.long
def test_the_base_install_needs_no_vllm_and_no_torch(tmp_path):
    for part in [*PARTS, "scripts"]:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, tmp_path / part)
    subprocess.run(["scripts/setup", "base"], cwd=tmp_path, check=True)
    python = tmp_path / ".venv" / "bin" / "python"
    for absent in ("vllm", "torch"):
        assert subprocess.run([python, "-c", f"import {absent}"], capture_output=True).returncode == 1
    for words in (["generate", "model=recorded", "limit=2"], ["judge", "program=none"], ["calibrate"]):
        done = subprocess.run([python, "-m", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    asked = subprocess.run([python, "-m", "judge"], cwd=tmp_path, capture_output=True, text=True)
    assert asked.returncode == 2 and "run scripts/setup cpu" in asked.stderr and asked.stderr.count("\n") == 1
    again = subprocess.run(["scripts/setup", "base"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "up to date" in again.stdout

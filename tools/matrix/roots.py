"""Debian systems in folders: made with debootstrap, entered with chroot, emulated with QEMU.

A system is made of its packages alone: debootstrap downloads and verifies them, and their files
are unpacked. Their scripts do not run, because Python needs none of them: an emulated system would
take twenty minutes for that instead of twenty seconds.
"""

import os
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from matrix.cells import PROJECT, TRIXIE, MatrixError, System

PLACE = PROJECT / "build" / "matrix"
BINFMT = Path("/proc/sys/fs/binfmt_misc")
HANDLER = "kinetree-matrix-aarch64"
# first bytes of an ELF program of aarch64, and which of their bits count
MAGIC = rb"\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
PREPARE = """
mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" || exit 125
root=$1; shift
chroot "$root" /usr/bin/env --ignore-environment "$@"
"""
# folders, certificates and settings of this machine are not those of a system
PLAIN = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8"}


def missing(system: System) -> str:
    """Return why a system cannot be used on this machine; "" if it can."""
    if os.name != "posix" or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "needs root on Linux, for debootstrap and chroot"
    made = root_of(system).exists()
    programs = ["unshare", "chroot", "mount", *([] if made else ["debootstrap", "dpkg-deb", "tar"])]
    programs += ["qemu-aarch64-static"] if system.emulated else []
    absent = [name for name in programs if shutil.which(name) is None]
    if absent:
        return f"{' and '.join(absent)} not found; Debian has the packages debootstrap and " + (
            "qemu-user-static" if system.emulated else "util-linux"
        )
    if system.emulated and not BINFMT.exists():
        return "binfmt_misc of the kernel is not there, which starts programs through QEMU"
    return ""


def root_of(system: System) -> Path:
    """Return the folder of a system."""
    return PLACE / "roots" / system.name


def make(system: System) -> Path:
    """Return the folder of a system, which is made if it is not there."""
    root = root_of(system)
    if root.exists():
        return root
    begun = root.with_name(f"{root.name}.part")
    shutil.rmtree(begun, ignore_errors=True)
    begun.parent.mkdir(parents=True, exist_ok=True)
    packages = ",".join((*system.packages, "ca-certificates"))
    words = ["debootstrap", "--download-only", "--variant=minbase", f"--include={packages}"]
    words += [f"--arch={system.architecture}", system.suite, str(begun)]
    mirror = os.environ.get("DEBIAN_MIRROR")
    done = subprocess.run([*words, *([mirror] if mirror else [])], capture_output=True, text=True)
    archives = sorted((begun / "var/cache/apt/archives").glob("*.deb"))
    if done.returncode or not archives:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise MatrixError(
            f"debootstrap could not download Debian {system.suite}:\n{last}\n"
            "Check the connection, or name a mirror in the variable DEBIAN_MIRROR."
        )
    for folder in ("usr/bin", "usr/lib", "usr/lib64", "usr/sbin", "proc", "dev", "tmp", "root"):
        (begun / folder).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        if not (begun / name).exists():
            (begun / name).symlink_to(f"usr/{name}")
    (begun / "tmp").chmod(0o1777)
    for archive in archives:
        _unpack(archive, begun)
        archive.unlink()
    # pip reads the certificates even where it needs no network; a script of the package joins them
    certificates = sorted((begun / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    joined = begun / "etc/ssl/certs/ca-certificates.crt"
    joined.parent.mkdir(parents=True, exist_ok=True)
    joined.write_bytes(b"".join(x.read_bytes() for x in certificates))
    begun.rename(root)
    return root


def _unpack(archive: Path, root: Path) -> None:
    """Unpack the files of a package over the links /bin, /lib and /sbin."""
    data = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
    words = ["tar", "-x", "-f", "-", "-C", str(root), "--keep-directory-symlink"]
    done = subprocess.run(words, stdin=data.stdout, capture_output=True, text=True)
    if data.wait() or done.returncode:
        raise MatrixError(f"{archive.name} could not be unpacked: {done.stderr.strip()[-300:]}")


def inside(
    root: Path, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> list[str]:
    """Return the command that runs words in a system, with a plain environment and more variables.

    /proc and /dev are mounted for this command alone, in a namespace of its own, so that nothing
    stays mounted when it ends, in whichever way; and no process of it outlives it.
    """
    enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    variables = [f"{name}={value}" for name, value in {**PLAIN, **(environment or {})}.items()]
    return [*enter, "sh", "-c", PREPARE, "sh", str(root), *variables, *words]


def native(system: System) -> System:
    """Return a system of this machine's kind with the same Python, which installs for another."""
    if not system.emulated:
        return system
    return TRIXIE


@contextmanager
def emulation(needed: bool) -> Generator[None]:
    """Let the kernel start programs of aarch64 through QEMU, and undo that at the end.

    A handler that somebody else has registered is used and stays. The flag F opens QEMU now, so
    that it is found from inside of a system that does not contain it.
    """
    if not needed or _registered():
        yield
        return
    if not (BINFMT / "register").exists():
        words = ["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise MatrixError(f"binfmt_misc could not be mounted: {done.stderr.strip()}")
    program = shutil.which("qemu-aarch64-static") or ""
    line = b":%s:M::%s:%s:%s:OCF" % (HANDLER.encode(), MAGIC, MASK, program.encode())
    (BINFMT / "register").write_bytes(line)
    try:
        yield
    finally:
        (BINFMT / HANDLER).write_bytes(b"-1")


def _registered() -> bool:
    """Return True if programs of aarch64 start through a handler that systems can use."""
    if not BINFMT.exists():
        return False
    for handler in BINFMT.iterdir():
        if handler.name in ("register", "status"):
            continue
        text = handler.read_text(encoding="ascii", errors="replace")
        flags = [x for x in text.splitlines() if x.startswith("flags:")]
        if "0200b700" in text and text.startswith("enabled") and "F" in "".join(flags)[6:]:
            return True
    return False

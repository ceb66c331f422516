"""Datasets by name, and downloads against a server on this machine."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import knowwhen as kw
from knowwhen.errors import DownloadFailed, UnknownDataset
from knowwhen.facts.catalog import REMOTE, Remote, available, cache, download

TRAIN = b"A\tConsult\tB\t2014-05-13\n" * 5000
SHA256 = hashlib.sha256(TRAIN).hexdigest()


class Server(BaseHTTPRequestHandler):
    """Serves TRAIN at /train, with ranges; /cut breaks off half way, /whole ignores ranges, /odd has no length.

    All else is 404.
    """

    asked: list[tuple[str, str | None]] = []

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.asked.append((self.path, wanted))
        if self.path not in ("/train", "/cut", "/whole", "/odd"):
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.path != "/whole" else 0
        if start >= len(TRAIN):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", "many" if self.path == "/odd" else str(len(TRAIN) - start))
        self.end_headers()
        body = TRAIN[start:]
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut" and not start else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def address():
    Server.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def remote(address, sha256=SHA256):
    return {"mini": Remote("a test", {"train.txt": (address, sha256)})}


def test_a_download_lands_in_the_cache_and_loads_by_name(address):
    seen = []
    folder = download("mini", lambda *step: seen.append(step), remote(f"{address}/train"))
    assert folder == cache() / "mini"
    assert seen[-1] == ("train.txt", len(TRAIN), len(TRAIN))
    assert len(kw.load("mini").train) == 5000
    assert available()["mini"] == folder
    download("mini", remotes=remote(f"{address}/train"))
    assert len(Server.asked) == 1  # what is whole stays


@pytest.mark.parametrize("then", ["/train", "/whole"])
def test_a_cut_connection_resumes(address, then):
    with pytest.raises(DownloadFailed, match=r"stopped at 57500 of 115000 bytes; run the same command to resume"):
        download("mini", remotes=remote(f"{address}/cut"))
    assert not (cache() / "mini" / "train.txt").exists()
    download("mini", remotes=remote(address + then))
    assert (cache() / "mini" / "train.txt").read_bytes() == TRAIN
    assert Server.asked[-1] == (then, f"bytes={len(TRAIN) // 2}-")


def test_a_length_that_is_no_number_is_not_believed(address):
    seen = []
    download("mini", lambda *step: seen.append(step), remote(f"{address}/odd"))
    assert seen[-1] == ("train.txt", len(TRAIN), None)


def test_a_part_that_is_already_whole_is_taken(address):
    (cache() / "mini").mkdir(parents=True)
    (cache() / "mini" / "train.txt.part").write_bytes(TRAIN)
    download("mini", remotes=remote(f"{address}/train"))
    assert (cache() / "mini" / "train.txt").read_bytes() == TRAIN


def test_a_wrong_checksum_keeps_nothing(address):
    with pytest.raises(DownloadFailed, match=r"/train is not the expected file: its SHA-256 is .*, not 000000000000"):
        download("mini", remotes=remote(f"{address}/train", "0" * 64))
    assert not (cache() / "mini").exists()


def test_what_the_server_refuses_is_said(address):
    with pytest.raises(DownloadFailed, match="/gone answered 404"):
        download("mini", remotes=remote(f"{address}/gone"))
    assert not (cache() / "mini").exists()


def test_a_server_that_is_not_there():
    with pytest.raises(DownloadFailed, match=r"cannot download .*run the same command to resume"):
        download("mini", remotes=remote("http://127.0.0.1:9/train"))


def test_names_that_are_not_known():
    with pytest.raises(UnknownDataset, match=r"no dataset, folder or file 'leader'; did you mean 'leaders'\?"):
        kw.load("leader")
    with pytest.raises(UnknownDataset, match=r"'icews14' is not on this machine; .*`knowwhen data get icews14`"):
        kw.load("icews14")
    with pytest.raises(UnknownDataset, match=r"'icews15' cannot be downloaded; expected .*; did you mean 'icews14'\?"):
        download("icews15")


def test_a_folder_of_datasets_is_looked_up_by_name(tmp_path, monkeypatch):
    (tmp_path / "data" / "mine").mkdir(parents=True)
    (tmp_path / "data" / "mine" / "train.txt").write_bytes(TRAIN)
    monkeypatch.setenv("KNOWWHEN_DATA", str(tmp_path / "data"))
    assert kw.load("mine").name == "mine"


def test_published_checksums_are_those_of_the_real_files(real_data):
    for name, dataset in REMOTE.items():
        for file, (_, sha256) in dataset.files.items():
            assert hashlib.sha256((real_data(name) / file).read_bytes()).hexdigest() == sha256

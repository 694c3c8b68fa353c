"""Hosts on one machine: network namespaces with addresses of their own, behind slow links.

    site's namespace 10.77.K.2 -- veth, token bucket on both ends -- 10.77.K.1 namespace of the hub

The hub forwards. Nothing touches the machine's own network. It takes root.
"""

import contextlib
import os
import secrets
import shutil
import subprocess


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def _allowed():
    """Whether namespaces and token buckets are to be had here."""
    if shutil.which("ip") is None or shutil.which("tc") is None or os.geteuid() != 0:
        return False
    try:
        with Hosts(["one"], "10mbit"):
            return True
    except subprocess.CalledProcessError:
        return False


class Hosts:
    """One host for each name, for a block.

    Args:
        names: of the hosts.
        rate: of every link, both ways, as tc writes it.
    """

    port = 7000

    def __init__(self, names, rate):
        tag = secrets.token_hex(2)
        self._hub, self._rate = f"sf{tag}h", rate
        self._spaces = {name: f"sf{tag}{at}" for at, name in enumerate(names)}
        self.addresses = {name: f"10.77.{at}.2" for at, name in enumerate(names)}

    def __enter__(self):
        try:
            _ip("netns", "add", self._hub)
            self._in(self._hub, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
            for name, space in self._spaces.items():
                self._link(space, self.addresses[name])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for space in (*self._spaces.values(), self._hub):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", space)

    def command(self, name, *command):
        """A command as it runs on a host."""
        return ["ip", "netns", "exec", self._spaces[name], *command]

    def connect(self, yes):
        """Take the network away from all hosts, or give it back."""
        for space in self._spaces.values():
            _ip("-n", self._hub, "link", "set", f"{space}r", "up" if yes else "down")

    def _in(self, space, *command):
        arguments = ["ip", "netns", "exec", space, *command]
        subprocess.run(arguments, check=True, capture_output=True, text=True)

    def _link(self, space, address):
        here, there = f"{space}l", f"{space}r"
        gateway = f"{address.rpartition('.')[0]}.1"
        _ip("netns", "add", space)
        pair = ("type", "veth", "peer", "name", there, "netns", self._hub)
        _ip("link", "add", here, "netns", space, *pair)
        for where, device, own in ((space, here, address), (self._hub, there, gateway)):
            _ip("-n", where, "address", "add", f"{own}/24", "dev", device)
            _ip("-n", where, "link", "set", device, "up")
            bucket = ("tbf", "rate", self._rate, "burst", "32kb", "latency", "400ms")
            self._in(where, "tc", "qdisc", "add", "dev", device, "root", *bucket)
        _ip("-n", space, "route", "add", "default", "via", gateway)


ALLOWED = _allowed()

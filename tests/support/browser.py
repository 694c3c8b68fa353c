"""A real browser without a window, spoken to in the DevTools protocol over a pipe.

That needs no library. Scripts that are evaluated so are not bound by the page's content security
policy, unlike the page's own.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

WAIT = 60.0  # seconds for one answer; a busy machine takes long to start a browser


class Chromium:
    """One headless browser with one page; commands go in and answers come out of a pipe."""

    def __init__(self, profile):
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()
        # The browser reads file descriptor 3 and writes 4, whatever numbers the pipes have here.
        arguments = [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"),
            *(f"--user-data-dir={profile}", "about:blank"),
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash", *arguments],
            pass_fds=(from_us, to_us),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self._to, self._from = to_browser, from_browser
        self._buffer, self._number, self._session = b"", 0, None
        self.errors = []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.command(f"{domain}.enable")

    def command(self, method, **parameters):
        """Send one command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda one: one.get("id") == self._number)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        """Load a file, or an address, and wait until it is there."""
        self.errors.clear()
        self.command("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        self._until(lambda one: one.get("method") == "Page.loadEventFired")

    def value(self, expression):
        """What an expression gives on the page."""
        answer = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key, code):
        """Press and release a key, as a person would."""
        for kind in ("keyDown", "keyUp"):
            self.command(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def close(self):
        with contextlib.suppress(AssertionError, OSError):
            self._session = None
            self.command("Browser.close")
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _until(self, wanted):
        deadline = time.monotonic() + WAIT
        while True:
            while b"\0" in self._buffer:
                text, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(text)
                self._note(message)
                if wanted(message):
                    return message
            ready, _, _ = select.select([self._from], [], [], deadline - time.monotonic())
            assert ready, "the browser does not answer"
            more = os.read(self._from, 1 << 16)
            assert more, "the browser ended"
            self._buffer += more

    def _note(self, message):
        """Keep whatever a developer would see in red or yellow in the console."""
        method, parameters = message.get("method"), message.get("params", {})
        if (
            method == "Runtime.exceptionThrown"
            or (method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"))
            or (method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"))
        ):
            self.errors.append(parameters)


def too_wide(page, width):
    """What leaves a screen of this width, and scrolled regions that hide a part; all is open."""
    page.command(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=740,
        deviceScaleFactor=2,
        mobile=width < 800,
    )
    page.value("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    outside = f"""
        [...document.querySelectorAll('main *, header *, footer *')].filter(one => {{
          const box = one.getBoundingClientRect();
          return box.right > {width} + 1 && box.width && !one.closest('.scroll, pre');
        }}).map(one => one.outerHTML.slice(0, 160))
    """
    cut = """
        [...document.querySelectorAll('.scroll')].filter(one =>
          one.scrollWidth > one.clientWidth + 1 && !one.querySelector('.heat')
        ).map(one => one.getAttribute('aria-label'))
    """
    return page.value(outside), page.value(cut)


CONTRASTS = """
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgb = (colour, under) => {
    canvas.fillStyle = `rgb(${under})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = one => one.map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const found = [];
  for (const one of document.querySelectorAll('body *')) {
    const own = [...one.childNodes].some(c => c.nodeType === 3 && c.textContent.trim());
    if (!own || !one.checkVisibility() || one.closest('script, style, .skip')) continue;
    const chain = [];
    for (let at = one; at; at = at.parentElement) chain.unshift(at);
    let under = [255, 255, 255];
    for (const at of chain) under = rgb(getComputedStyle(at).backgroundColor, under);
    const style = getComputedStyle(one);
    const ink = rgb(one.closest('svg') ? style.fill : style.color, under);
    const [low, high] = [luminance(ink), luminance(under)].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), one.className?.baseVal ?? one.className,
                one.textContent.trim().slice(0, 30)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
})()
"""


def contrasts(page, scheme):
    """Contrast, class and words of every text that is shown, least first; all is open."""
    page.command(
        "Emulation.setEmulatedMedia",
        features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ],
    )
    page.value("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    return page.value(CONTRASTS)

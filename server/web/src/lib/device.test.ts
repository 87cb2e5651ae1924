import { expect, test } from "vitest";
import { deviceName, qrPath } from "./device";

test("a code is drawn by its dark runs", () => {
  expect(qrPath(["0110", "1001", "0000"])).toBe("M1 0h2v1h-2zM0 1h1v1h-1zM3 1h1v1h-1z");
});

test("browsers are named as people know them", () => {
  expect(deviceName("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Mobile Safari/537.36")).toBe("Chrome on Android");
  expect(deviceName("Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1 Version/18.5 Mobile Safari/604.1")).toBe("Safari on iPhone");
  expect(deviceName("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/141.0 Safari/537.36 Edg/141.0")).toBe("Edge on Windows");
  expect(deviceName("x")).toBe("Browser");
});

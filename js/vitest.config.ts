import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { environment: "happy-dom", testTimeout: 120_000 }, // what hangs; a test that works takes as long on no busy machine
});

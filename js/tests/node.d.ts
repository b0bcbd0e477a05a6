/** As much of Node as the tests use: its own types would be one more dependency. */
declare module "node:fs" {
  export function readFileSync(path: string): Uint8Array;
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function readdirSync(path: string, options?: { recursive: true }): string[];
}
declare module "node:crypto" {
  export function createHash(name: string): { update(data: Uint8Array): { digest(form: "hex"): string } };
}
declare module "node:zlib" {
  export function gzipSync(data: Uint8Array, options: { level: number }): Uint8Array;
}
interface ImportMeta {
  dirname: string;
}

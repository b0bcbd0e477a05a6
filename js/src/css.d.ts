/** esbuild writes imported styles into widget.css; the second module has its own as text. */
declare module "*.css" {
  const text: string;
  export default text;
}

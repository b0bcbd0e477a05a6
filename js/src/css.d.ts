/** esbuild writes imported styles into widget.css. */
declare module "*.css";

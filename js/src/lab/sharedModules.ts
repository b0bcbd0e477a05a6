/** One version of a module that the page shares: https://webpack.js.org/concepts/module-federation/ */
interface SharedVersion {
  get(): Promise<() => unknown> | (() => unknown);
  loaded?: unknown;
}

/** The modules that JupyterLab shares with its extensions, by name and version. */
export type SharedScope = Record<string, Record<string, SharedVersion> | undefined>;

/** Load the exports of these modules that are named, from those that the page shares. */
export async function loadSharedModules<T>(
  scope: SharedScope,
  modules: Record<string, readonly (keyof T & string)[]>,
): Promise<T> {
  const names = Object.entries(modules);
  const loaded = await Promise.all(names.map(([module]) => load(scope, module)));
  const exports = names.map(([, wanted], at) => pickExports(loaded[at], wanted));
  return Object.assign({}, ...exports) as T;
}

/** What is wanted of a module, if it has it. */
function pickExports(module: unknown, wanted: readonly string[]): object {
  const exported = module as Record<string, unknown>;
  return Object.fromEntries(wanted.filter((name) => name in exported).map((name) => [name, exported[name]]));
}

/** Load the one copy that the page uses: the one that is loaded already, else the newest, as module federation does. */
async function load(scope: SharedScope, name: string): Promise<unknown> {
  const versions = scope[name];
  const newest = Object.keys(versions ?? {}).sort((one, other) =>
    one.localeCompare(other, "en", { numeric: true }),
  );
  const chosen = newest.findLast((version) => versions?.[version]?.loaded) ?? newest.at(-1);
  const version = chosen === undefined ? undefined : versions?.[chosen];
  if (!version) throw new Error(`nbtool: this page shares no ${name}.`);
  return (await version.get())();
}

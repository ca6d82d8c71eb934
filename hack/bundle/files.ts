/** Decides which files of `dist/bundle` belong to a build and which may be deleted. Pure. */

/** esbuild's report of the files that it wrote (`--metafile`). */
export interface Metafile {
  /** Its files, by their path in the project. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

export interface BundledFile {
  /** In the project: `dist/bundle/chunks/a.js`. */
  readonly path: string;
  /** When the file was written, or was last part of the newest build; ms. */
  readonly usedMs: number;
}

/** How long programs that run may still load the files that newer builds have replaced. */
const graceMs = 24 * 60 * 60_000;

/** In order, each once. */
export function filesOf(metafiles: readonly Metafile[], others: readonly string[]): string[] {
  return [...new Set([...metafiles.flatMap(({ outputs }) => Object.keys(outputs)), ...others])].sort();
}

/** Files that left the newest build so long ago that no program needs them. */
export function outdated(present: readonly BundledFile[], newest: readonly string[], nowMs: number): string[] {
  const kept = new Set(newest);
  return present.filter(({ path, usedMs }) => !kept.has(path) && nowMs - usedMs > graceMs).map(({ path }) => path);
}

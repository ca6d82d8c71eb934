/** Releases, as `/version` and nodes name them. Pure. */

export interface Release {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Of `v1.24.0` and `v1.24.0-rc.1+abc`; undefined for what is no release. */
export function parseRelease(text: string): Release | undefined {
  const [, major, minor, patch] = /^v?(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:[-+].*)?$/.exec(text) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** Negative where `a` came before `b`. */
export function compareReleases(a: Release, b: Release): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** How many minor releases `a` is ahead of `b`; infinite between major ones. */
export function minorsAhead(a: Release, b: Release): number {
  if (a.major !== b.major) return a.major > b.major ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return a.minor - b.minor;
}

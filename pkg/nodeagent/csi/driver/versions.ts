/** Versions of CSI that a driver reports when it registers. Rules and texts of 1.24. Pure. */

/** A version as numbers, most significant first. */
export type Version = readonly number[];

/** `1.0.0`, `v1.3`; undefined for other texts. */
function parseVersion(text: string): Version | undefined {
  const match = /^\s*v?(\d+(?:\.\d+)+)/.exec(text);
  if (match?.[1] === undefined) return undefined;
  const parts = match[1].split('.');
  return parts.some((part) => part.length > 1 && part.startsWith('0')) ? undefined : parts.map(Number);
}

/** Negative if `a` is lower. */
export function compareVersions(a: Version, b: Version): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The highest version 1.x; later major versions are ignored. Throws Error without one. */
export function highestSupportedVersion(versions: readonly string[]): Version {
  let highest: Version | undefined;
  let problem = '<nil>';
  for (const text of versions.toReversed()) {
    const version = parseVersion(text);
    if (version === undefined) problem = `could not parse "${text}" as version`;
    else if ((version[0] ?? 0) <= 1 && (highest === undefined || compareVersions(highest, version) < 0))
      highest = version;
  }
  if (highest === undefined) {
    const list = `[${versions.join(' ')}]`;
    throw new Error(
      `could not find a highest supported version from versions (${list}) reported by this driver: ${problem}`,
    );
  }
  if (highest[0] !== 1) {
    throw new Error(`highest supported version reported by driver is ${highest.join('.')}, must be v1.x`);
  }
  return highest;
}

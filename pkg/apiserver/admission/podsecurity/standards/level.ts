/** Levels of the Pod Security Standards and the versions of their definitions (KEP-2579). */

/** From the least to the most strict one. */
const levels = ['privileged', 'baseline', 'restricted'] as const;

export type Level = (typeof levels)[number];

/** A release whose definition of a level applies. Its text is canonical: versions are equal if their texts are. */
export interface Version {
  /** `latest`, or `v1.` and the minor version. */
  readonly text: string;
  /** Infinity for `latest`. */
  readonly minor: number;
}

export interface LevelVersion {
  readonly level: Level;
  readonly version: Version;
}

export const latestVersion: Version = { text: 'latest', minor: Number.POSITIVE_INFINITY };

/** Messages of 1.24 about invalid levels and versions. */
export const levelRule = `must be one of ${levels.join(', ')}`;
export const versionRule = 'must be "latest" or "v1.x"';

const versionPattern = /^v1\.(0|[1-9][0-9]{0,18})$/;
const maxMinor = 2n ** 63n - 1n;

/** Undefined for another text. */
export function parseLevel(text: string): Level | undefined {
  return levels.find((level) => level === text);
}

/** Undefined for another text, and for a minor version beyond 64 bits. */
export function parseVersion(text: string): Version | undefined {
  if (text === latestVersion.text) return latestVersion;
  const minor = versionPattern.exec(text)?.[1];
  if (minor === undefined || BigInt(minor) > maxMinor) return undefined;
  return { text, minor: Number(minor) };
}

/** `restricted:v1.24`, as messages show it. */
export function shownLevel({ level, version }: LevelVersion): string {
  return `${level}:${version.text}`;
}

export function sameLevel(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.version.text === b.version.text;
}

/** Positive if the first level is stricter. */
export function compareLevels(a: Level, b: Level): number {
  return levels.indexOf(a) - levels.indexOf(b);
}

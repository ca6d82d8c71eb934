/** Version information of the programs. */
import { readFileSync } from 'node:fs';
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/once-per.js';

/** The fields of `/version`. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** Version of the runtime, in the field that clients know. */
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** Written by `hack/build-info.sh`. */
type BuildInfo = Pick<VersionInfo, 'gitCommit' | 'gitTreeState' | 'buildDate'>;

/** Values without build info; release 1.24 reports the same. */
const unknownBuild: BuildInfo = { gitCommit: '', gitTreeState: '', buildDate: '1970-01-01T00:00:00Z' };
/** In the build folder, two levels above this file and above every bundled file. */
const buildFile = new URL('../../build.json', import.meta.url);

/** Read once per dialect. */
const buildInfo = perDialect((_: Dialect) => readBuildInfo(buildFile));

/** The file's content, with defaults for missing fields. */
export function readBuildInfo(file: URL): BuildInfo {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return unknownBuild;
  }
  const given = typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : {};
  const text = (name: keyof BuildInfo) => {
    const value = given[name];
    return typeof value === 'string' ? value : unknownBuild[name];
  };
  return { gitCommit: text('gitCommit'), gitTreeState: text('gitTreeState'), buildDate: text('buildDate') };
}

/** The dialect's version, build and platform. */
export function versionInfo(dialect: Dialect): VersionInfo {
  const [major = '', minor = ''] = dialect.version.replace(/^v/, '').split('.');
  return {
    major,
    minor,
    gitVersion: dialect.version,
    ...buildInfo(dialect),
    goVersion: process.version,
    compiler: 'v8',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

/** `Orch v1.24.0`; `raw`: all fields as JSON. */
export function versionText(dialect: Dialect, raw: boolean): string {
  if (raw) return JSON.stringify(versionInfo(dialect));
  return `${dialect.product.charAt(0).toUpperCase()}${dialect.product.slice(1)} ${dialect.version}`;
}

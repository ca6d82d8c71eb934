/** What the programs say about their version. */
import { readFileSync } from 'node:fs';
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/per-dialect.js';

/** The fields of `/version`. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** Of the runtime: clients that know only one language's field find it there. */
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** What `hack/build-info.sh` says of the build. */
type BuildInfo = Pick<VersionInfo, 'gitCommit' | 'gitTreeState' | 'buildDate'>;

/** Of what was compiled without it; release 1.24 says the same then. */
const unknownBuild: BuildInfo = { gitCommit: '', gitTreeState: '', buildDate: '1970-01-01T00:00:00Z' };
/** In the folder of the build, two levels above this file and above every file of the bundle. */
const buildFile = new URL('../../build.json', import.meta.url);

/** Read for a dialect when it is asked for first. */
const buildInfo = perDialect((_: Dialect) => readBuildInfo(buildFile));

/** The file's content; what it does not say is as for a build without one. */
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

/** The dialect's version in parts, with its build and what it runs on. */
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

/** `Orch v1.24.0`; `raw`: all that is known. */
export function versionText(dialect: Dialect, raw: boolean): string {
  if (raw) return JSON.stringify(versionInfo(dialect));
  return `${dialect.product.charAt(0).toUpperCase()}${dialect.product.slice(1)} ${dialect.version}`;
}

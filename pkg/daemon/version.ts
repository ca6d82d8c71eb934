/** What the programs say about their version. */
import type { Dialect } from '#apimachinery/dialect.js';

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

/** The dialect's version in parts, with what it runs on. */
export function versionInfo(dialect: Dialect): VersionInfo {
  const [major = '', minor = ''] = dialect.version.replace(/^v/, '').split('.');
  return {
    major,
    minor,
    gitVersion: dialect.version,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
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

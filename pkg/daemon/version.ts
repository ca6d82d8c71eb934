/** What the programs say about their version. */
import type { Dialect } from '#apimachinery/dialect.js';

export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/** The dialect's version in parts. */
export function versionInfo(dialect: Dialect): VersionInfo {
  const [major = '', minor = ''] = dialect.version.replace(/^v/, '').split('.');
  return { major, minor, gitVersion: dialect.version };
}

/** `Orch v1.24.0`; `raw`: all that is known. */
export function versionText(dialect: Dialect, raw: boolean): string {
  if (raw) return JSON.stringify(versionInfo(dialect));
  return `${dialect.product.charAt(0).toUpperCase()}${dialect.product.slice(1)} ${dialect.version}`;
}

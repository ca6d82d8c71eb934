import type { Dialect } from '#apimachinery/dialect.js';

/** What `/version` says. */
export function versionDocument(dialect: Dialect): object {
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

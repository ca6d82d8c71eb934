import type { Dialect } from '#apimachinery/dialect.js';
import { versionInfo } from '#daemon/version.js';

/** What `/version` says. */
export function versionDocument(dialect: Dialect): object {
  return versionInfo(dialect);
}

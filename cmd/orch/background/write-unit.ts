import { serviceUnit } from '#cmd/orch/background/service-unit.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { joinedOf, readSettings } from '#cmd/orch/context/settings.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Writes the unit by which systemd starts what is in a data directory. @param command Program and arguments. */
export function writeUnit(file: string, layout: Layout, command: readonly string[]): void {
  const joined = joinedOf(readSettings(layout.settings));
  const description = joined === undefined ? `Cluster in ${layout.root}` : `Part of the cluster at ${joined.server}`;
  replaceFile(file, serviceUnit({ description, command, path: process.env['PATH'] ?? systemPath }));
}

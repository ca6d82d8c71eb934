/** What a new server has to know and have of its cluster: the authorities with their keys, the settings, the way to etcd. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';

const sharedSettings = ['dialect', 'apiPort', 'serviceRange', 'podRange'] as const;

export interface Invitation {
  readonly settings: Pick<ClusterSettings, (typeof sharedSettings)[number]>;
  /** Addresses of etcd for clients. */
  readonly etcd: readonly string[];
  /** Texts by name, of `authorityFiles`. */
  readonly files: Readonly<Record<string, string>>;
}

/** What all servers have in common: all else is signed with it. */
const authorityFiles = [
  'ca.crt',
  'ca.key',
  'front-proxy-ca.crt',
  'front-proxy-ca.key',
  'etcd-ca.crt',
  'etcd-ca.key',
  'sa.key',
  'sa.pub',
] as const;

/** Throws the file system's errors. */
export function invitationOf(layout: Layout, settings: ClusterSettings, etcd: readonly string[]): Invitation {
  const { dialect, apiPort, serviceRange, podRange } = settings;
  const files = authorityFiles.map((name) => [name, readFileSync(join(layout.pki, name), 'utf8')]);
  return { settings: { dialect, apiPort, serviceRange, podRange }, etcd, files: Object.fromEntries(files) };
}

/** Throws an Error for a text that is none. */
export function parseInvitation(text: string): Invitation {
  const value = JSON.parse(text) as Partial<Invitation> | null;
  const { settings, etcd, files } = value ?? {};
  const missing = [
    ...sharedSettings.filter((name) => settings?.[name] === undefined),
    ...authorityFiles.filter((name) => typeof files?.[name] !== 'string'),
    ...(Array.isArray(etcd) && etcd.length > 0 ? [] : ['etcd']),
  ];
  if (settings === undefined || etcd === undefined || files === undefined || missing.length > 0)
    throw new Error(`what the cluster tells its servers lacks ${missing.join(', ')}`);
  return { settings, etcd, files };
}

/** Readable for the owner alone. Names come from the list here, not from the other side. */
export function writeAuthorities(layout: Layout, { files }: Invitation): void {
  for (const name of authorityFiles) replaceFile(join(layout.pki, name), files[name] ?? '');
}

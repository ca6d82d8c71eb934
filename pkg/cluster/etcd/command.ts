/** `orch etcd`: usage of the store, and state of its members. */

import { resolve } from 'node:path';
import { stderr, stdout } from 'node:process';
import { etcdRoot } from '#apiserver/options/etcd.js';
import { layoutOf } from '#cluster/config/layout.js';
import { dataDir, etcdOptions, outputOption } from '#cluster/config/options.js';
import { chooseEtcd, openStore } from '#cluster/etcd/access.js';
import { formatEncryption, readRules } from '#cluster/etcd/encryption.js';
import { formatBytes, formatColumns } from '#cluster/terminal/format.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { runSubcommand } from '#cluster/terminal/subcommand.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';
import { type EncryptionUse, readEncryptionUse } from '#etcd-admin/encryption-use.js';
import { measureUsage, type Share, type Usage } from '#etcd-admin/usage.js';

const help = `orch etcd shows the state of a cluster's store.

Usage:
  orch etcd usage     show which resources and namespaces fill it
  orch etcd encryption
                      show which keys its objects are encrypted with
  orch etcd status    show its members, their sizes and alarms
  orch etcd members   show its members and their peer addresses
  orch etcd remove-member NAME
                      remove a member whose machine is lost

Help of a command: orch etcd usage --help
`;

const usageOptions = {
  ...dataDir,
  ...etcdOptions,
  'etcd-prefix': { type: 'string', default: '/registry', section: 'Store', meaning: 'Prefix of the objects’ keys.' },
  ...outputOption,
  top: { type: 'int', default: 15, min: 1, section: 'Output', meaning: 'Longest length of a table, in lines.' },
} as const satisfies OptionTable;

const encryptionOptions = {
  ...dataDir,
  ...etcdOptions,
  'etcd-prefix': usageOptions['etcd-prefix'],
  'encryption-provider-config': {
    type: 'string',
    section: 'Store',
    meaning: 'The file of the API servers: shows which objects are still stored under an old key.',
  },
  ...outputOption,
} as const satisfies OptionTable;

const memberOptions = { ...dataDir, ...etcdOptions } as const satisfies OptionTable;

export async function etcd(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch etcd', help, argv, {
    usage: {
      table: usageOptions,
      description: 'Show which resources and namespaces fill the store.',
      run: async ({ values }) => {
        const { access } = chooseEtcd(values, layoutOf(resolve(values['data-dir'])));
        const store = openStore(access);
        try {
          const prefix = `${etcdRoot(values['etcd-prefix'])}/`;
          const usage = await measureUsage(store, prefix, progress);
          if (stderr.isTTY) stderr.write('\r\u001b[2K');
          stdout.write(values.output === 'json' ? formatJson(usage) : formatTables(usage, values.top));
          return 0;
        } finally {
          await store.close();
        }
      },
    },
    encryption: {
      table: encryptionOptions,
      description: 'Show which keys the stored objects are encrypted with.',
      run: async ({ values }) => {
        const rules = readRules(values['encryption-provider-config']);
        const { access } = chooseEtcd(values, layoutOf(resolve(values['data-dir'])));
        const store = openStore(access);
        try {
          const prefix = `${etcdRoot(values['etcd-prefix'])}/`;
          const use = await readEncryptionUse(store, { prefix, rules, onPage: progress });
          if (stderr.isTTY) stderr.write('\r\u001b[2K');
          stdout.write(values.output === 'json' ? formatJson(use) : formatEncryption(use));
          return 0;
        } finally {
          await store.close();
        }
      },
    },
    status: {
      table: memberOptions,
      description: 'Show the members of the store, their sizes and alarms.',
      run: ({ values }) => withAdmin(values, async (admin) => void stdout.write(await statusTable(admin))),
    },
    members: {
      table: memberOptions,
      description: 'Show the members of the store and their peer addresses.',
      run: ({ values }) => withAdmin(values, async (admin) => void stdout.write(membersTable(await admin.members()))),
    },
    'remove-member': {
      table: memberOptions,
      argument: 'NAME',
      description: 'Remove a member of the store for good, such as one whose machine is lost.',
      run: ({ values, argument }) =>
        withAdmin(values, async (admin) => {
          const gone = memberToRemove(await admin.members(), argument);
          await admin.removeMember(gone.id);
          stdout.write(`Removed ${argument}. To delete its node too: orchctl delete node ${argument}\n`);
        }),
    },
  });
}

async function withAdmin(
  values: OptionValues<typeof memberOptions>,
  action: (admin: EtcdAdmin) => Promise<void>,
): Promise<number> {
  const { access } = chooseEtcd(values, layoutOf(resolve(values['data-dir'])));
  const admin = new EtcdAdmin(access);
  try {
    await action(admin);
    return 0;
  } finally {
    admin.close();
  }
}

function membersTable(members: readonly EtcdMember[]): string {
  const rows = members.map(({ id, name, peerURLs, isLearner }) => [
    ...[BigInt(id).toString(16), name, isLearner ? 'learner' : 'voter'],
    peerURLs.join(','),
  ]);
  return formatColumns([['ID', 'NAME', 'ROLE', 'PEERS'], ...rows]);
}

/** Finds a member by its name, or its id in hexadecimal. Throws a SetupError. */
function memberToRemove(members: readonly EtcdMember[], key: string): EtcdMember {
  const member = members.find(({ id, name }) => name === key || BigInt(id).toString(16) === key);
  if (member === undefined)
    throw new SetupError(`etcd has no member ${key}; it has ${members.map(({ name }) => name)}`);
  if (members.length === 1) throw new SetupError(`${key} is the only member of etcd and cannot be removed`);
  return member;
}

function progress(objects: number): void {
  if (stderr.isTTY) stderr.write(`\r  … ${objects} objects read`);
}

function formatJson(result: Usage | EncryptionUse): string {
  return `${JSON.stringify({ ...result, revision: String(result.revision) }, null, 2)}\n`;
}

function formatTables({ revision, total, resources, namespaces }: Usage, top: number): string {
  const rows = (title: string, shares: readonly Share[]) => [
    [title, 'OBJECTS', 'SIZE', 'SHARE', 'LARGEST'],
    ...shares
      .slice(0, top)
      .map(({ name, objects, bytes, largest }) => [
        name,
        String(objects),
        formatBytes(bytes),
        `${((100 * bytes) / Math.max(1, total.bytes)).toFixed(1)}%`,
        `${formatBytes(largest.bytes)} ${largest.key}`,
      ]),
  ];
  return [
    `${total.objects} objects, ${formatBytes(total.bytes)}, at revision ${revision}`,
    '',
    formatColumns(rows('RESOURCE', resources)),
    formatColumns(rows('NAMESPACE', namespaces)),
  ].join('\n');
}

/** One line for each member, with the error of an unreachable one. */
async function statusTable(admin: EtcdAdmin): Promise<string> {
  const [members, alarms] = await Promise.all([admin.members(), admin.alarms()]);
  const rows = await Promise.all(
    members.map(async ({ id, name, clientURLs, isLearner }) => {
      const [endpoint = ''] = clientURLs;
      const raised = alarms.filter(({ memberID }) => memberID === id).map(({ type }) => type);
      const state = await admin.status(endpoint).then(
        ({ version, sizeBytes, usedBytes, leader }) => [
          leader === id ? 'leader' : isLearner ? 'learner' : 'follower',
          version,
          formatBytes(sizeBytes),
          formatBytes(usedBytes),
        ],
        (error: unknown) => ['away', '', '', String(error)],
      );
      return [name, endpoint, ...state, raised.join(',')];
    }),
  );
  return formatColumns([['MEMBER', 'ADDRESS', 'ROLE', 'VERSION', 'SIZE', 'IN USE', 'ALARMS'], ...rows]);
}

/** `orch etcd`: what fills the store, and how its members are. */

import { resolve } from 'node:path';
import { stderr, stdout } from 'node:process';
import { etcdRoot } from '#apiserver/options/etcd.js';
import { dataDir } from '#cmd/orch/context/data-dir.js';
import { etcdOptions } from '#cmd/orch/context/etcd-options.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { chooseEtcd, openStore } from '#cmd/orch/store/etcd-access.js';
import { formatBytes } from '#cmd/orch/terminal/bytes.js';
import { formatColumns } from '#cmd/orch/terminal/columns.js';
import { outputOption } from '#cmd/orch/terminal/output-option.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { runSubcommand } from '#cmd/orch/terminal/subcommand.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';
import { measureUsage, type Share, type Usage } from '#etcd-admin/usage.js';

const help = `orch etcd shows how the store of a cluster is.

Usage:
  orch etcd usage     show which resources and namespaces fill it
  orch etcd status    show its members, their sizes and alarms
  orch etcd members   show who they are, and where the others reach them
  orch etcd remove-member NAME
                      take out one whose machine is gone for good

More on one: orch etcd usage --help
`;

const usageOptions = {
  ...dataDir,
  ...etcdOptions,
  'etcd-prefix': { type: 'string', default: '/registry', section: 'Store', meaning: 'Where the objects are in it.' },
  ...outputOption,
  top: { type: 'int', default: 15, min: 1, section: 'Output', meaning: 'How many lines a table has at most.' },
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
          stdout.write(values.output === 'json' ? jsonOf(usage) : tablesOf(usage, values.top));
          return 0;
        } finally {
          await store.close();
        }
      },
    },
    status: {
      table: memberOptions,
      description: 'Show the members of the store, their sizes and alarms.',
      run: ({ values }) => withAdmin(values, async (admin) => void stdout.write(await statusOf(admin))),
    },
    members: {
      table: memberOptions,
      description: 'Show the members of the store, and where the others reach them.',
      run: ({ values }) => withAdmin(values, async (admin) => void stdout.write(membersTable(await admin.members()))),
    },
    'remove-member': {
      table: memberOptions,
      argument: 'NAME',
      description: 'Take a member out of the store for good, such as one whose machine is gone.',
      run: ({ values, argument }) =>
        withAdmin(values, async (admin) => {
          const gone = memberToRemove(await admin.members(), argument);
          await admin.removeMember(gone.id);
          stdout.write(`Removed ${argument}. Its node is another matter: orchctl delete node ${argument}\n`);
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

/** By its name, or its id in hexadecimal. Throws a SetupError. */
function memberToRemove(members: readonly EtcdMember[], which: string): EtcdMember {
  const found = members.find(({ id, name }) => name === which || BigInt(id).toString(16) === which);
  if (found === undefined)
    throw new SetupError(`etcd has no member ${which}; it has ${members.map(({ name }) => name)}`);
  if (members.length === 1) throw new SetupError(`${which} is the only member: without it there is no store`);
  return found;
}

function progress(objects: number): void {
  if (stderr.isTTY) stderr.write(`\r  … ${objects} objects read`);
}

function jsonOf(usage: Usage): string {
  return `${JSON.stringify({ ...usage, revision: String(usage.revision) }, null, 2)}\n`;
}

function tablesOf({ revision, total, resources, namespaces }: Usage, top: number): string {
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

/** One line for each member; one that does not answer says why. */
async function statusOf(admin: EtcdAdmin): Promise<string> {
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

/** `orch hosted-etcd`: what the pods and Jobs of a control plane that runs in a cluster do with its etcd. */
import { env, stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { fetchBackup } from '#cluster/backup/places.js';
import { s3Options } from '#cluster/backup/s3/options.js';
import { enterEtcd } from '#cluster/hosted/etcd/enter.js';
import { enterOptions, hostOptions, podOptions, setOptions, shrinkOptions } from '#cluster/hosted/etcd/options.js';
import { etcdPods } from '#cluster/hosted/etcd/pods.js';
import { restoreVolume, stopForRestore } from '#cluster/hosted/etcd/restore.js';
import { shrinkEtcd } from '#cluster/hosted/etcd/shrink.js';
import { connectHost } from '#cluster/hosted/host-client.js';
import { runSubcommand } from '#cluster/terminal/subcommand.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';

const help = `orch hosted-etcd manages the members of etcd of a control plane that runs in a cluster. The chart's pods and Jobs call it.

Usage:
  orch hosted-etcd enter      let a pod enter the cluster of members, before its etcd starts
  orch hosted-etcd shrink     remove members before their pods stop
  orch hosted-etcd stop       stop the control plane, to restore a backup
  orch hosted-etcd restore    restore a backup into the volume of one member

Help of a command: orch hosted-etcd enter --help
`;

const say = (line: string) => void stdout.write(`${line}\n`);

const stopOptions = {
  ...hostOptions,
  set: setOptions.set,
  deployments: { type: 'strings', section: 'Pods', meaning: 'Names of the Deployments of the programs.' },
  selector: { type: 'string', section: 'Pods', meaning: 'Label selector of all pods that stop.' },
  annotation: {
    type: 'string',
    section: 'Pods',
    meaning: 'Annotation of the StatefulSet with the name of the backup that was restored last.',
  },
  backup: { type: 'string', section: 'Backup', meaning: 'Name of the backup.' },
} as const satisfies OptionTable;

const restoreOptions = {
  ...setOptions,
  ...podOptions,
  backup: stopOptions.backup,
  from: { type: 'string', section: 'Backup', meaning: 'Folder or s3://BUCKET/PREFIX that has the backup.' },
  ...s3Options,
} as const satisfies OptionTable;

export async function hostedEtcd(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch hosted-etcd', help, argv, {
    enter: {
      table: enterOptions,
      description: 'Let a pod enter the cluster of members, before its etcd starts.',
      run: async ({ values }) => {
        const stopping = new AbortController();
        for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
        await enterEtcd(values, { clock: realClock, say, signal: stopping.signal });
        return 0;
      },
    },
    shrink: {
      table: shrinkOptions,
      description: 'Remove members before their pods stop.',
      run: async ({ values }) => {
        const { client, namespace } = await connectHost(values, 'orch hosted-etcd');
        try {
          await shrinkEtcd(values, { client, namespace, clock: realClock, say });
        } finally {
          await client.close();
        }
        return 0;
      },
    },
    stop: {
      table: stopOptions,
      description: 'Stop the control plane, to restore a backup.',
      run: async ({ values }) => {
        const { set, deployments, selector, annotation, backup } = values;
        if (set === undefined || selector === undefined || annotation === undefined || backup === undefined)
          throw new OptionsError(['--set, --selector, --annotation and --backup: must be given']);
        const { client, namespace } = await connectHost(values, 'orch hosted-etcd');
        try {
          const input = { set, deployments, selector, annotation, backup };
          await stopForRestore(input, { client, namespace, clock: realClock, say });
        } finally {
          await client.close();
        }
        return 0;
      },
    },
    restore: {
      table: restoreOptions,
      description: 'Restore a backup into the volume of one member.',
      run: async ({ values }) => {
        const { backup, from, member = '' } = values;
        const ordinal = Number(/-(\d+)$/.exec(member)?.[1] ?? Number.NaN);
        if (backup === undefined || from === undefined || Number.isNaN(ordinal))
          throw new OptionsError(['--backup, --from and --member: must be given']);
        await restoreVolume({
          ...{ pods: etcdPods(values), ordinal, dataDir: values['data-dir'], backup, say },
          path: env['PATH'] ?? '',
          fetch: (into) => fetchBackup({ place: from, name: backup, into, values, env, clock: realClock }),
        });
        return 0;
      },
    },
  });
}

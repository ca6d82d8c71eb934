/** The pods of a control plane's own etcd, and its members as seen from one of them. */

import { etcdAccess } from '#cluster/etcd/access.js';
import type { certificateOptions, setOptions } from '#cluster/hosted/etcd/options.js';
import type { OptionValues } from '#daemon/options/option.js';
import { OptionsError } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';
import { isLearnersRefusal } from '#storage/etcd/errors.js';

export interface EtcdPods {
  /** Name of the StatefulSet. */
  readonly set: string;
  readonly replicas: number;
  /** Name of a pod, which is its member's name, too. */
  name(ordinal: number): string;
  peerURL(ordinal: number): string;
  clientURL(ordinal: number): string;
}

/** Throws an OptionsError. */
export function etcdPods(values: OptionValues<typeof setOptions>): EtcdPods {
  const { set, service, replicas } = values;
  if (set === undefined || service === undefined) throw new OptionsError(['--set and --service: must be given']);
  const name = (ordinal: number) => `${set}-${ordinal}`;
  const url = (ordinal: number, port: number) => `https://${name(ordinal)}.${service}:${port}`;
  return {
    ...{ set, replicas, name },
    peerURL: (ordinal) => url(ordinal, values['peer-port']),
    clientURL: (ordinal) => url(ordinal, values['client-port']),
  };
}

export function numbersBelow(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

interface TlsFiles {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

/** Access by the options' certificates. */
export function tlsFiles(values: OptionValues<typeof certificateOptions>): TlsFiles {
  return { caFile: values['etcd-cafile'], certFile: values['etcd-certfile'], keyFile: values['etcd-keyfile'] };
}

export interface SeenMembers {
  /** Undefined when none answers. */
  readonly members: readonly EtcdMember[] | undefined;
  /** Ids of the members that answer. */
  readonly answering: ReadonlySet<string>;
  /** Client URLs that answer. */
  readonly endpoints: readonly string[];
}

/** Asks each address by itself, so that one that is down hides no other. */
export async function seeMembers(endpoints: readonly string[], files: TlsFiles): Promise<SeenMembers> {
  const answers = await Promise.all(endpoints.map((endpoint) => seeOne(endpoint, files)));
  const up = answers.flatMap((answer) => answer ?? []);
  // A member that lags behind has an old list.
  const [newest] = up
    .filter(({ members }) => members !== undefined)
    .toSorted((a, b) => b.appliedIndex - a.appliedIndex);
  return {
    members: newest?.members,
    answering: new Set(up.map(({ id }) => id)),
    endpoints: up.map(({ endpoint }) => endpoint),
  };
}

interface SeenMember {
  readonly endpoint: string;
  readonly id: string;
  readonly appliedIndex: number;
  /** Undefined where the member has no leader, whose list may be an old one, or no vote: then it refuses to list. */
  readonly members: readonly EtcdMember[] | undefined;
}

async function seeOne(endpoint: string, files: TlsFiles): Promise<SeenMember | undefined> {
  const admin = new EtcdAdmin(etcdAccess({ endpoints: [endpoint], ...files }));
  try {
    const { memberID, leader, appliedIndex } = await admin.status(endpoint);
    const members = leader === '0' ? undefined : await admin.members().catch(unlessVoteless);
    return { endpoint, id: memberID, appliedIndex, members };
  } catch {
    // A pod that is down, or that waits itself.
    return undefined;
  } finally {
    admin.close();
  }
}

function unlessVoteless(error: unknown): undefined {
  if (!isLearnersRefusal(error)) throw error;
}

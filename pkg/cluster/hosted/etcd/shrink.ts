/** Removes members of a control plane's own etcd before their pods stop, one at a time. */
import { statefulsets } from '#api/apps/v1/resources.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { etcdAccess } from '#cluster/etcd/access.js';
import { nextToLeave } from '#cluster/hosted/etcd/entry-plan.js';
import type { shrinkOptions } from '#cluster/hosted/etcd/options.js';
import { type EtcdPods, numbersBelow, seeMembers, tlsFiles } from '#cluster/hosted/etcd/pods.js';
import type { HostContext } from '#cluster/hosted/host-client.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import type { OptionValues } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';

type ShrinkValues = OptionValues<typeof shrinkOptions>;

const pauseMs = 1000;
/** Longest time in which the members that stay may get ready, ms. */
const patienceMs = 120_000;

/**
 * Leaves as many members as the control plane will have pods; nothing to do for as many as now, or for more. Rejects with a
 * SetupError, before the pods stop, when the others would have no majority.
 */
export async function shrinkEtcd(values: ShrinkValues, pods: EtcdPods, context: HostContext): Promise<void> {
  const { client, namespace, clock, say } = context;
  const now = await replicasOf(client, pods.set, namespace);
  if (now <= pods.replicas) {
    say(`${pods.set} has ${now} pods, and will have ${pods.replicas}: no member leaves`);
    return;
  }
  const files = tlsFiles(values);
  const staying = numbersBelow(pods.replicas).map(pods.peerURL);
  const deadline = clock.monotonic() + patienceMs;
  for (let last = ''; ; ) {
    const { members = [], answering, endpoints } = await seeMembers(numbersBelow(now).map(pods.clientURL), files);
    const next = members.length === 0 ? 'no member answers' : nextToLeave({ staying, members, answering });
    if (next === undefined) return;
    if (typeof next === 'string') {
      if (clock.monotonic() > deadline) throw new SetupError(`no member may leave: ${next}`);
      if (next !== last) say(`waiting: ${next}`);
      last = next;
    } else {
      const admin = new EtcdAdmin(etcdAccess({ endpoints: endpoints.filter((url) => staysAt(url, pods)), ...files }));
      try {
        await handOver(admin, next, members, { pods, endpoints });
        await admin.removeMember(next.id);
      } finally {
        admin.close();
      }
      say(`member ${next.name || next.id} left`);
    }
    await clock.sleep(pauseMs);
  }
}

function staysAt(url: string, pods: EtcdPods): boolean {
  return numbersBelow(pods.replicas).some((number) => pods.clientURL(number) === url);
}

/** A leader that leaves costs an election; one that hands over does not. */
async function handOver(
  admin: EtcdAdmin,
  leaving: EtcdMember,
  members: readonly EtcdMember[],
  { pods, endpoints }: { readonly pods: EtcdPods; readonly endpoints: readonly string[] },
): Promise<void> {
  const at = numbersBelow(pods.replicas).map(pods.peerURL);
  const successor = members.find(({ peerURLs }) => peerURLs.some((url) => at.includes(url)));
  for (const endpoint of endpoints) {
    const { memberID, leader } = await admin.status(endpoint);
    if (memberID === leaving.id && leader === leaving.id && successor !== undefined)
      await admin.moveLeader(endpoint, successor.id);
  }
}

/** 0 without the StatefulSet. */
async function replicasOf(client: Client, name: string, namespace: string): Promise<number> {
  try {
    return (await client.resource(statefulsets).get(name, { namespace })).spec?.replicas ?? 1;
  } catch (error) {
    if (isNotFound(error)) return 0;
    throw error;
  }
}

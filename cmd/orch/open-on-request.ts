/**
 * Opens the cluster of one machine to more servers, without an end of anything but its etcd, which is started once more to
 * listen for the others: about a second in which requests wait, once in the life of a cluster. A single member listens on
 * loopback alone, since most clusters never have another one.
 *
 * It is asked for by a signal, after the settings say at which address: whoever may send that may do all of this anyway.
 */
import { messageOf } from '#apimachinery/errors/message.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { readSettings } from '#cmd/orch/context/settings.js';
import type { Infrastructure } from '#cmd/orch/infrastructure.js';
import { openSignal } from '#cmd/orch/members/open-signal.js';
import { ensureEtcdPki } from '#cmd/orch/pki/etcd-pki.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';

export async function openOnRequest(
  context: ClusterContext,
  { etcdProgram }: Pick<Infrastructure, 'etcdProgram'>,
  { elect }: Pick<RunningCluster, 'elect'>,
): Promise<void> {
  const { clock, layout, log, running } = context;
  let isOpen = context.settings.server !== undefined;
  const open = async () => {
    const { server } = readSettings(layout.settings) ?? context.settings;
    if (isOpen || server === undefined || etcdProgram === undefined) return;
    isOpen = true;
    try {
      // Before anybody else can be there.
      await elect?.(server.name);
      await ensureEtcdPki(layout.pki, { now: clock.now(), ips: [server.address] });
      await etcdProgram.restart();
      const { membership } = await import('#cmd/orch/members/membership.js');
      await membership(context, server).settle();
      log.info({ address: server.address }, 'the cluster is open to more servers');
    } catch (error) {
      isOpen = false;
      log.error({ problem: messageOf(error) }, 'the cluster could not be opened to more servers');
    }
  };
  let work = Promise.resolve();
  const onSignal = () => {
    work = work.then(open);
  };
  process.on(openSignal, onSignal);
  running.push({
    name: 'opening for servers',
    async close() {
      process.off(openSignal, onSignal);
      await work;
    },
  });
}

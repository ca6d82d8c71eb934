/** Two API servers on one etcd: each serves the definitions that the other has established. */
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import type { WatchMessage, WatchOptions } from '#storage/store.js';
import { startEtcd } from '#test/etcd.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { type Ask, definitionsEverywhere } from '#test/integration/apiserver/workers/definitions.js';

/** Receives all changes with a delay. */
class LateStore extends ForwardingStore {
  override async *watch(options: WatchOptions): AsyncGenerator<WatchMessage> {
    for await (const message of this.below.watch(options)) {
      await clock.sleep(lateMs);
      yield message;
    }
  }
}

const lateMs = 100;

void t.test('a definition established by one server is served by the other', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const { argv } = await clusterCredentials(t, dialect, 'secret,admin,1,"system:masters"\n');
  const connect = () => new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
  const servers = [
    await startCompleteServer(t, { dialect, argv, store: connect() }),
    await startCompleteServer(t, { dialect, argv, store: new LateStore(connect()) }),
  ];
  const askers = servers.map(
    ({ client }): Ask =>
      async (path, method = 'GET', body = undefined) => {
        try {
          const answer = await client.request<object>(method, path, body);
          return { status: method === 'POST' ? 201 : 200, text: JSON.stringify(answer) };
        } catch (error) {
          const status = statusOf(error);
          if (status?.code === undefined) throw error;
          return { status: status.code, text: JSON.stringify(status) };
        }
      },
  );
  const path = `/apis/${dialect.groupName('apiextensions')}/v1/customresourcedefinitions`;
  await definitionsEverywhere(t, { path, askers, rounds: 4, each: 4 });
});

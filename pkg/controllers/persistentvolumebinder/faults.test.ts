/**
 * Claims and volumes under random faults with two concurrent controllers: no watcher ever sees two claims bound to one
 * volume, bound claims keep their volume, used volumes are not bound to another claim, and finally all possible claims are
 * bound.
 */

import t from 'tap';
import { persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { conflict, internalError, type StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { frozen } from '#client/testing/frozen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { losingResponses } from '#controllers/framework/testing/lost-responses.js';
import { PersistentVolumeBinder } from '#controllers/persistentvolumebinder/controller.js';
import { silentLogger } from '#daemon/log/logger.js';

const seeds = Array.from({ length: 20 }, (_, i) => 9000 + i);
t.setTimeout(300_000);

const recycler = { minimumSeconds: 60, secondsPerGi: 30 };
const options = {
  syncPeriodMs: 15_000,
  provisioning: true,
  honorPolicy: false,
  recyclers: { hostPath: recycler, nfs: recycler },
};

for (const seed of seeds) {
  t.test(`seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const harness = new Harness(t, [persistentvolumes, persistentvolumeclaims, pods, storageclasses]);
    const { api, clock, dialect } = harness;
    let losing = true;
    const client = losingResponses(harness.context.client, () => losing && random() < 0.05);

    // Each controller has its own caches, and may be replaced in the middle of its work.
    const stops: AbortController[] = [];
    const running: Promise<void>[] = [];
    const boot = (slot: number) => {
      const stop = new AbortController();
      stops[slot] = stop;
      const informers = new SharedInformerFactory({
        client,
        clock,
        random: () => 0.5,
        log: silentLogger,
        transform: frozen,
      });
      const controller = new PersistentVolumeBinder({ ...harness.context, client, informers }, options);
      running.push(informers.start(stop.signal), controller.run(stop.signal));
    };
    t.teardown(async () => {
      for (const stop of stops) stop.abort();
      // A controller may be waiting for a retry.
      await clock.advance(120_000);
      await Promise.all(running);
    });

    const problems = new Set<string>();
    const volumeOf = new Map<string, string>();
    const dataOf = new Map<string, string>();
    const { bindCompleted } = dialect.annotations;
    const check = () => {
      const bound = new Map<string, string>();
      for (const { metadata, spec } of api.list(persistentvolumeclaims)) {
        const { uid = '', name, annotations } = metadata;
        const { volumeName = '' } = spec;
        if (annotations?.[bindCompleted] === undefined) continue;
        const other = bound.get(volumeName);
        if (other !== undefined) problems.add(`${volumeName} is bound to ${other} and ${name}`);
        bound.set(volumeName, name ?? '');
        const before = volumeOf.get(uid) ?? volumeName;
        if (before !== volumeName) problems.add(`${name} was moved from ${before} to ${volumeName}`);
        volumeOf.set(uid, volumeName);
        const owner = dataOf.get(volumeName) ?? uid;
        if (owner !== uid) problems.add(`${volumeName} with data of ${owner} was given to ${name}`);
        dataOf.set(volumeName, uid);
      }
    };
    let changed = false;
    // Every request follows the observation of the previous write.
    api.intercept(({ verb }) => {
      if (changed) check();
      changed = verb === 'update';
      return undefined;
    });
    const heal = api.intercept((call): StatusError | undefined => {
      if (!losing || call.verb === 'watch' || call.verb === 'list') return undefined;
      const dice = random();
      if (dice < 0.06) return internalError(new Error('fault'));
      if (dice < 0.12) return conflict({ group: '', resource: call.resource }, call.name ?? '', 'fault');
      return dice < 0.14 ? tooManyRequests('fault', 1) : undefined;
    });
    boot(0);
    boot(1);
    await harness.settled();

    let created = 0;
    const size = () => `${1 + Math.floor(random() * 3)}Gi`;
    const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
    const addVolume = (reserve: boolean) => {
      const claim = reserve ? pick(api.list(persistentvolumeclaims).filter(({ spec }) => !spec.volumeName)) : undefined;
      const claimRef =
        claim === undefined ? {} : { claimRef: { namespace: 'default', name: claim.metadata.name ?? '' } };
      created += 1;
      api.seed<PersistentVolume>(persistentvolumes, {
        metadata: { name: `v${created}` },
        spec: {
          capacity: { storage: size() },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          ...claimRef,
        },
      });
    };
    const addClaim = (reserve: boolean) => {
      const volumeName = reserve ? pick(api.list(persistentvolumes))?.metadata.name : undefined;
      created += 1;
      // Names are reused, as in a stateful set.
      const name = `c${created % 12}`;
      if (api.get(persistentvolumeclaims, `default/${name}`) !== undefined) return;
      api.seed<PersistentVolumeClaim>(persistentvolumeclaims, {
        metadata: { name, namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: size() } },
          ...(volumeName === undefined ? {} : { volumeName }),
        },
      });
    };
    const thaw: (() => void)[] = [];
    const turn = async () => {
      const dice = random();
      if (dice < 0.25) addVolume(random() < 0.3);
      else if (dice < 0.55) addClaim(random() < 0.2);
      else if (dice < 0.62) {
        const victim = pick(api.list(persistentvolumeclaims));
        if (victim !== undefined) api.remove(persistentvolumeclaims, `default/${victim.metadata.name}`);
      } else if (dice < 0.67) api.dropWatches();
      else if (dice < 0.75) thaw.push(harness.freeze(random() < 0.5 ? 'persistentvolumes' : 'persistentvolumeclaims'));
      else if (dice < 0.9) thaw.pop()?.();
      else if (dice < 0.93) api.compact();
      else {
        const slot = random() < 0.5 ? 0 : 1;
        stops[slot]?.abort();
        boot(slot);
      }
      await harness.advance(Math.floor(random() * 3000));
    };
    for (let i = 0; i < 50; i += 1) await turn();
    for (const undo of thaw) undo();
    heal();
    losing = false;
    // Add a matching volume for each unbound claim.
    for (const { spec } of api.list(persistentvolumeclaims)) {
      if ((spec.volumeName ?? '') !== '') continue;
      created += 1;
      api.seed<PersistentVolume>(persistentvolumes, {
        metadata: { name: `v${created}` },
        spec: { capacity: { storage: '9Gi' }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain' },
      });
    }
    await harness.advance(120_000);
    await harness.advance(120_000);
    check();
    t.same([...problems], []);
    const claims = api.list(persistentvolumeclaims);
    for (const { metadata, spec, status } of claims) {
      const volume = api.get(persistentvolumes, spec.volumeName ?? '');
      const mine = volume?.spec.claimRef?.uid === metadata.uid;
      // Claims that name a volume may stay unbound; all others are bound.
      if (status?.phase === 'Bound') t.ok(mine && volume?.status?.phase === 'Bound', `${metadata.name} has its volume`);
      else t.ok((spec.volumeName ?? '') !== '' && !mine, `${metadata.name} waits for ${spec.volumeName}`);
    }
    for (const { metadata, spec, status } of api.list(persistentvolumes)) {
      const claim = claims.find((each) => each.metadata.uid === spec.claimRef?.uid);
      const phase = spec.claimRef?.uid === undefined ? 'Available' : claim === undefined ? 'Released' : 'Bound';
      t.equal(status?.phase, phase, metadata.name ?? '');
    }
  });
}

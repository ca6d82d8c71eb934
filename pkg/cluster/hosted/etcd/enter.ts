/** Lets one pod of a control plane's own etcd enter the cluster of members, and writes etcd's configuration. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { etcdAccess } from '#cluster/etcd/access.js';
import { type EntryStep, entryStep, type ObservedEtcd } from '#cluster/hosted/etcd/entry-plan.js';
import { outliveKeptData } from '#cluster/hosted/etcd/kept-data.js';
import type { enterOptions } from '#cluster/hosted/etcd/options.js';
import { type EtcdPods, etcdPods, numbersBelow, seeMembers, tlsFiles } from '#cluster/hosted/etcd/pods.js';
import { openWaitingRoom, waitsWithoutData } from '#cluster/hosted/etcd/waiting-room.js';
import { OptionsError, type OptionValues } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';

type EnterValues = OptionValues<typeof enterOptions>;

const pauseMs = 1000;

export interface EnterContext {
  readonly clock: Clock;
  /** Lines for an operator who reads the pod's log. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The pods of the options; the number is that of the file, if there is one. Throws an OptionsError. */
export function enteringPods(values: EnterValues): EtcdPods {
  return etcdPods({ ...values, replicas: replicasOf(values) });
}

/** Resolves when etcd may start. Waits without end: the reasons are in the log. Rejects with an OptionsError. */
export async function enterEtcd(
  values: EnterValues,
  pods: EtcdPods,
  { clock, say, signal }: EnterContext,
): Promise<void> {
  const own = ownOf(values, pods);
  const files = tlsFiles(values);
  let room: (() => Promise<void>) | undefined;
  let last = '';
  try {
    for (;;) {
      signal.throwIfAborted();
      const observed = await observe(values, pods, own);
      const step = entryStep(observed.etcd);
      const text = describe(step);
      if (text !== last) say(text);
      last = text;
      if (step.type === 'start' || step.type === 'begin' || step.type === 'join') {
        if (step.type === 'start') outliveKeptData(values['data-dir']);
        writeConfig(values, pods, own, initialMembers(step, pods, own));
        // The members have everything, and the volume needs the room.
        if (step.type === 'join') rmSync(removedData(values), { recursive: true, force: true });
        return;
      }
      if (step.type === 'discard') setAside(values['data-dir'], removedData(values));
      else if (step.type !== 'wait') {
        const admin = new EtcdAdmin(etcdAccess({ endpoints: observed.endpoints, ...files }));
        await act(admin, step, pods.peerURL(own))
          .catch((error: unknown) => say(`etcd refuses: ${messageOf(error)}`))
          .finally(() => admin.close());
      }
      if (!observed.etcd.hasData) room ??= await openWaitingRoom(Number(new URL(pods.peerURL(own)).port), files);
      await clock.sleep(pauseMs, signal);
    }
  } finally {
    await room?.();
  }
}

function replicasOf({ replicas, 'replicas-file': file }: EnterValues): number {
  if (file === undefined) return replicas;
  const number = Number(readFileSync(file, 'utf8').trim());
  if (!Number.isSafeInteger(number) || number < 1) throw new OptionsError([`--replicas-file: ${file} has no number`]);
  return number;
}

function ownOf({ member = '' }: EnterValues, { set }: EtcdPods): number {
  const number = member.startsWith(`${set}-`) ? member.slice(set.length + 1) : '';
  if (!/^\d+$/.test(number)) throw new OptionsError([`--member: expected ${set}-NUMBER, got ${member}`]);
  return Number(number);
}

interface Observed {
  readonly etcd: ObservedEtcd;
  readonly endpoints: readonly string[];
}

async function observe(values: EnterValues, pods: EtcdPods, own: number): Promise<Observed> {
  const files = tlsFiles(values);
  const numbers = numbersBelow(Math.max(pods.replicas, own + 1));
  const others = numbers.filter((number) => number !== own);
  const { members, answering, endpoints } = await seeMembers(others.map(pods.clientURL), files);
  const hasData = existsSync(join(values['data-dir'], 'member'));
  const asks = members === undefined && !hasData && own === 0;
  const empty = asks ? await Promise.all(others.map((number) => waitsWithoutData(pods.peerURL(number), files))) : [];
  const emptyPods = empty.filter((isEmpty) => isEmpty).length;
  return {
    etcd: { ordinal: own, peerURLs: numbers.map(pods.peerURL), hasData, members, answering, emptyPods },
    endpoints,
  };
}

async function act(
  admin: EtcdAdmin,
  step: Extract<EntryStep, { type: 'add' | 'promote' | 'remove' }>,
  peerURL: string,
): Promise<void> {
  if (step.type === 'promote') await admin.promote(step.id);
  else if (step.type === 'remove') await admin.removeMember(step.id);
  else if (step.isLearner) await admin.addLearner(peerURL);
  else await admin.addVoter(peerURL);
}

function describe(step: EntryStep): string {
  switch (step.type) {
    case 'start':
      return 'the volume has data: etcd starts with it';
    case 'begin':
      return 'no pod has data: a new cluster begins';
    case 'join':
      return `joining ${step.members.length - 1} other members`;
    case 'add':
      return step.isLearner ? 'registering as a member that gets its vote later' : 'registering as a member';
    case 'promote':
      return `giving member ${step.id} its vote`;
    case 'remove':
      return `removing the member ${step.id} that this pod was before it lost its data`;
    case 'discard':
      return 'the volume has the data of a removed member: it is set aside';
    case 'wait':
      return `waiting: ${step.why}`;
  }
}

/** `name=url` of the members of a first start. */
function initialMembers(step: EntryStep, pods: EtcdPods, own: number): string[] {
  const of = ({ name, peerURLs }: EtcdMember) =>
    peerURLs.map((url) => `${url === pods.peerURL(own) ? pods.name(own) : name}=${url}`);
  return step.type === 'join' ? step.members.flatMap(of) : [`${pods.name(own)}=${pods.peerURL(own)}`];
}

function writeConfig(values: EnterValues, pods: EtcdPods, own: number, initial: readonly string[]): void {
  const { config, 'config-template': template } = values;
  if (config === undefined || template === undefined)
    throw new OptionsError(['--config and --config-template: must be given']);
  const fields = parse(readFileSync(template, 'utf8')) as Record<string, unknown>;
  const whole = {
    ...fields,
    name: pods.name(own),
    'data-dir': values['data-dir'],
    'advertise-client-urls': pods.clientURL(own),
    'initial-advertise-peer-urls': pods.peerURL(own),
    'initial-cluster': initial.join(','),
    'initial-cluster-state': initial.length === 1 ? 'new' : 'existing',
  };
  mkdirSync(dirname(config), { recursive: true });
  // JSON is YAML, which etcd reads.
  writeFileSync(config, `${JSON.stringify(whole, null, 2)}\n`);
}

function removedData({ 'data-dir': dataDir }: EnterValues): string {
  return `${dataDir}.removed`;
}

/** Renames a directory, in place of what was set aside before. */
function setAside(directory: string, target: string): void {
  rmSync(target, { recursive: true, force: true });
  renameSync(directory, target);
}

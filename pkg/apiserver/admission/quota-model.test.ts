/** Quotas of pods against a slow model that counts whole numbers over all pods, for random creations and deletions. */
import t from 'tap';
import type { Pod, ResourceQuota } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { checkQuotas } from '#apiserver/admission/quota-check.js';
import { QuotaEvaluators } from '#quota/evaluators.js';

const evaluator = new QuotaEvaluators(orchDialect).of('core', 'pods');

type Scope = 'BestEffort' | 'NotBestEffort' | 'Terminating' | 'NotTerminating';
type Counted = 'pods' | 'count/pods' | 'requests.cpu' | 'limits.memory';

interface SmallPod {
  /** Thousandths; undefined: no request. */
  readonly cpu: number | undefined;
  /** Mebibytes; undefined: no limit. */
  readonly memory: number | undefined;
  readonly deadline: number | undefined;
}

interface SmallQuota {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly hard: Readonly<Partial<Record<Counted, number>>>;
}

/** The meaning of scopes and of amounts. */
function isWithin({ cpu, memory, deadline }: SmallPod, scope: Scope): boolean {
  // Nothing is as good as no request.
  const isBestEffort = (cpu ?? 0) === 0 && (memory ?? 0) === 0;
  if (scope === 'BestEffort') return isBestEffort;
  if (scope === 'NotBestEffort') return !isBestEffort;
  return (deadline !== undefined) === (scope === 'Terminating');
}

function amountOf({ cpu, memory }: SmallPod, name: Counted): number | undefined {
  if (name === 'requests.cpu') return cpu;
  return name === 'limits.memory' ? memory : 1;
}

function sumOf(pods: readonly SmallPod[], { scopes }: SmallQuota, name: Counted): number {
  const within = pods.filter((pod) => scopes.every((scope) => isWithin(pod, scope)));
  return within.reduce((sum, pod) => sum + (amountOf(pod, name) ?? 0), 0);
}

/** Whether all quotas have room for one more pod, which says how much it uses of what they limit. */
function hasRoom(quotas: readonly SmallQuota[], pods: readonly SmallPod[], pod: SmallPod): boolean {
  return quotas.every((quota) => {
    if (!quota.scopes.every((scope) => isWithin(pod, scope))) return true;
    return (Object.keys(quota.hard) as Counted[]).every((name) => {
      const amount = amountOf(pod, name);
      if (amount === undefined) return false;
      return amount === 0 || sumOf([...pods, pod], quota, name) <= (quota.hard[name] ?? 0);
    });
  });
}

const text = (name: Counted, amount: number) =>
  name === 'requests.cpu' ? `${amount}m` : name === 'limits.memory' ? `${amount}Mi` : String(amount);

function podOf({ cpu, memory, deadline }: SmallPod): Pod {
  const requests = cpu === undefined ? {} : { cpu: text('requests.cpu', cpu) };
  const limits = memory === undefined ? {} : { memory: text('limits.memory', memory) };
  const terminating = deadline === undefined ? {} : { activeDeadlineSeconds: String(deadline) };
  return {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', resources: { requests, limits } }], ...terminating },
  } as Pod;
}

/** The quota with the usage that the controller counts. */
function quotaOf(quota: SmallQuota, pods: readonly SmallPod[]): ResourceQuota {
  const names = Object.keys(quota.hard) as Counted[];
  const list = (amount: (name: Counted) => number) =>
    Object.fromEntries(names.map((name) => [name, text(name, amount(name))]));
  const hard = list((name) => quota.hard[name] ?? 0);
  return {
    metadata: { name: quota.name, namespace: 'ns', resourceVersion: '1' },
    spec: { hard, scopes: [...quota.scopes] },
    status: { hard, used: list((name) => sumOf(pods, quota, name)) },
  };
}

const seed = Number(process.env['SEED'] ?? 4117);

t.test(`random pods are admitted while the quotas of the model have room (SEED=${seed})`, async (t) => {
  if (evaluator === undefined) throw new Error('pods are not counted');
  let [admitted, refused] = [0, 0];
  for (let history = 0; history < 60; history++) {
    const random = seededRandom(seed + history);
    const upTo = (most: number) => Math.floor(random() * (most + 1));
    const maybe = <T>(make: () => T): T | undefined => (random() < 0.6 ? make() : undefined);
    const quotas = Array.from({ length: 1 + upTo(3) }, (_, n): SmallQuota => {
      const scopes = [maybe<Scope>(() => (random() < 0.3 ? 'BestEffort' : 'NotBestEffort'))];
      scopes.push(maybe<Scope>(() => (random() < 0.5 ? 'Terminating' : 'NotTerminating')));
      const hard: Partial<Record<Counted, number>> = { pods: 2 + upTo(6) };
      if (random() < 0.5) hard['count/pods'] = 2 + upTo(8);
      // A quota of best-effort pods may limit their number only.
      if (!scopes.includes('BestEffort') && random() < 0.6) hard['requests.cpu'] = 500 + upTo(3000);
      if (!scopes.includes('BestEffort') && random() < 0.3) hard['limits.memory'] = 128 + upTo(1024);
      return { name: `q${n}`, scopes: scopes.filter((scope) => scope !== undefined), hard };
    });
    const pods: SmallPod[] = [];
    const wrong: unknown[] = [];
    for (let step = 0; step < 60; step++) {
      if (pods.length > 0 && random() < 0.3) pods.splice(upTo(pods.length - 1), 1);
      const pod = { cpu: maybe(() => upTo(900)), memory: maybe(() => upTo(256)), deadline: maybe(() => upTo(60)) };
      const objects = quotas.map((quota) => quotaOf(quota, pods));
      const verdict = checkQuotas(objects, {
        evaluator,
        object: podOf(pod),
        nowMs: 0,
        limited: { names: [], scopes: [] },
      });
      const isAdmitted = !('refused' in verdict);
      if (isAdmitted !== hasRoom(quotas, pods, pod)) wrong.push({ step, pod, verdict, quotas, pods });
      if (!isAdmitted) refused++;
      else {
        admitted++;
        pods.push(pod);
      }
    }
    t.same(wrong.slice(0, 2), [], `history ${history}: every verdict is the model's`);
  }
  t.ok(admitted > 300 && refused > 300, 'both verdicts are common');
});

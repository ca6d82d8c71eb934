import { readFileSync } from 'node:fs';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { type Api, collectionPath, failureOf, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { objectName } from '#cmd/orchctl/api/resources.js';
import { fieldManager } from '#cmd/orchctl/commands/apply/way.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { type Manifest, readManifests, readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { stepOf, type Verdict, warningsIn, webhooksIn } from '#cmd/orchctl/commands/why/refusal.js';
import { copiesText, explanationText, leavingText, verdictText } from '#cmd/orchctl/commands/why/text.js';
import { objectText } from '#cmd/orchctl/print/object.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { parseOptions } from '#daemon/options/parse.js';
import { notAdmitted } from '#scheduler/explain/admission.js';
import { explain } from '#scheduler/explain/explain.js';
import type { Explanation } from '#scheduler/explain/explanation.js';
import type { InquiryExtenders } from '#scheduler/explain/extenders.js';
import { type CopiesForecast, copiesOf, leaving, without } from '#scheduler/explain/forecast.js';
import { listedSnapshot } from '#scheduler/explain/listed-snapshot.js';
import { ClusterCopy, Pace, type Snapshot } from '#scheduler/explain/snapshot.js';
import { HttpExtender } from '#scheduler/extenders/http-extender.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { pluginsOfModules, resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { makeProfiles } from '#scheduler/plugins/profiles.js';
import { defaultContext } from '#scheduler/plugins/registry.js';

/** The scheduler's code with its state, in this process. */
interface State {
  readonly client: RestClient;
  readonly profiles: readonly Profile[];
  /** Listed but not called, since only the scheduler may be able to reach them. */
  readonly extenders: InquiryExtenders;
  readonly snapshot: Snapshot;
  /** A copy for trials. */
  copy(snapshot: Snapshot): Promise<ClusterCopy>;
}

async function stateOf({ api, clock, signal, values }: Invocation): Promise<State> {
  const { dialect } = await api.catalog();
  const table = schedulerOptions(dialect);
  const parsed = parseOptions(table, [], { program: dialect.components.scheduler, allowArgs: false });
  if (parsed.kind !== 'run') throw new Error('options without arguments must parse');
  const source = values.string('scheduler-config') ?? '';
  const file = source === '' ? undefined : { source, text: readSettings(source) };
  const morePlugins = file === undefined ? [] : await pluginsOfModules(file);
  const { settings } = resolveScheduler(parsed, {
    table,
    dialect,
    morePlugins,
    ...(file === undefined ? {} : { file }),
  });
  const client = await api.client(dialect);
  const snapshot = await listedSnapshot(client, signal);
  const pace = new Pace(clock, signal);
  return {
    client,
    profiles: makeProfiles(settings, dialect, defaultContext, morePlugins),
    extenders: { extenders: settings.extenders.map((each) => new HttpExtender(each, { clock, env: {} })) },
    snapshot,
    copy: (of) => ClusterCopy.of(of, dialect, pace),
  };
}

function readSettings(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${path}: ${messageOf(error)}`);
  }
}

/** Limit of `--copies`. */
const maxCopies = 10_000;

/** Runs `orchctl why` and returns the exit code. Throws UsageError and CommandError. */
export async function answer(invocation: Invocation): Promise<number> {
  const { args, values } = invocation;
  const hasPods = args.length > 0 || readsFiles(values);
  const [drain, removedNode] = [values.string('drain') ?? '', values.string('without-node') ?? ''];
  if (drain !== '' && (removedNode !== '' || hasPods))
    throw new UsageError('--drain cannot be combined with a pod or --without-node');
  if (values.number('copies') > maxCopies) throw new UsageError(`--copies must be at most ${maxCopies}`);
  if (!hasPods && drain === '' && removedNode === '')
    throw new UsageError('specify a pod, a file, or a node: see orchctl why --help');
  if (values.bool('ask-scheduler') && localOptions.some((option) => values.isSet(option)))
    throw new UsageError(
      `--ask-scheduler needs an existing pod, and cannot be combined with --${localOptions.join(', --')}`,
    );
  if (!hasPods) return nodeLeaves(invocation, drain === '' ? removedNode : drain, drain !== '');
  if (values.bool('ask-scheduler')) return askScheduler(invocation);
  // Check the arguments before any request.
  const name = readsFiles(values) ? undefined : podName(args);
  const state = await stateOf(invocation);
  const subjects = name === undefined ? await fromFiles(invocation, state) : [await existing(invocation, state, name)];
  const results: object[] = [];
  for (const subject of subjects) {
    results.push('verdict' in subject ? subject.verdict : await explainPod(invocation, state, subject));
  }
  print(invocation, results.length === 1 ? results[0] : results);
  return 0;
}

/** The scheduler's decisions about existing pods. The state of the cluster is read once, when it is first needed. */
export function explanations(invocation: Invocation): (pod: Pod) => Promise<Explanation> {
  let state: Promise<State> | undefined;
  return async (pod) => {
    state ??= stateOf(invocation);
    const { client, copy, extenders, profiles, snapshot } = await state;
    return explain(pod, { copy: await copy(snapshot), dialect: client.dialect, profiles, extenders, scores: 0 });
  };
}

/** Options that the scheduler's page does not support. */
const localOptions = ['filename', 'copies', 'without-node', 'drain', 'scheduler-config'];

/** Fetches the explanation of the running scheduler, with its own state and profiles. */
async function askScheduler(invocation: Invocation): Promise<number> {
  const { api, args, namespace, values } = invocation;
  const query = new URLSearchParams({ pod: `${namespace}/${podName(args)}` });
  const node = values.string('node') ?? '';
  if (node !== '') query.set('node', node);
  else if (values.bool('nodes')) query.set('limit', '500');
  const get = () => api.json<Explanation>('GET', `/debug/scheduler/explain?${query}`);
  const explanation = await get();
  const items = [...(explanation.details?.items ?? [])];
  for (let next = explanation.details?.continue; next !== undefined; ) {
    query.set('continue', next);
    const { details } = await get();
    items.push(...(details?.items ?? []));
    next = details?.continue;
  }
  print(invocation, explanation.details === undefined ? explanation : { ...explanation, details: { items } });
  return 0;
}

/** A pod, the reason why it cannot be created, or the API server's verdict on another object. */
type Subject = { readonly pod: Pod } | { readonly refused: Explanation } | { readonly verdict: Verdict };

function podName(args: readonly string[]): string {
  const [type = '', name] = args.length === 1 && args[0]?.includes('/') === true ? args[0].split('/') : args;
  if (!['pod', 'pods', 'po'].includes(type) || name === undefined || name === '' || args.length > 2) {
    throw new UsageError('use: orchctl why pod NAME');
  }
  return name;
}

async function existing({ namespace }: Invocation, { client }: State, name: string): Promise<Subject> {
  return { pod: await client.resource(pods).get(name, { namespace }) };
}

/** The pods of the files, as the API server would create them. */
async function fromFiles(invocation: Invocation, { client }: State): Promise<Subject[]> {
  const manifests = await readManifests(invocation, await invocation.api.catalog());
  const subjects: Subject[] = [];
  for (const manifest of manifests) {
    const verdict = await verdictOf(invocation.api, manifest);
    const pod = podOf(manifest);
    // For objects with pods only the pods are explained, unless webhooks decide on the object itself.
    if (pod === undefined || verdict.webhooks.length > 0) subjects.push({ verdict });
    if (pod === undefined) continue;
    const { name = 'pod', namespace = '', ...metadata } = pod.metadata;
    const sent = { ...pod, metadata: { ...metadata, namespace, generateName: `${name}-` } };
    try {
      const created = await client.resource(pods).create(sent, { namespace, dryRun: true });
      subjects.push({ pod: { ...created, metadata: { ...created.metadata, name } } });
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      subjects.push({ refused: notAdmitted(pod, status.message ?? '', client.dialect.apiVersion('scheduling', 'v1')) });
    }
  }
  return subjects;
}

/** The object's pod, or the pod of its template; undefined if it has none. */
function podOf({ namespace, object }: Manifest): Pod | undefined {
  const { metadata, spec } = object as { metadata: Pod['metadata']; spec?: Pod['spec'] & WithTemplate };
  const names = { name: metadata.name ?? '', namespace: namespace ?? '' };
  if (object.kind === 'Pod' && spec !== undefined) {
    const { annotations = {}, labels = {} } = metadata;
    return { apiVersion: 'v1', kind: 'Pod', metadata: { ...names, annotations, labels }, spec };
  }
  const template = spec?.template ?? spec?.jobTemplate?.spec?.template;
  if (template?.spec === undefined) return undefined;
  const { annotations = {}, labels = {} } = template.metadata ?? {};
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...names, annotations, labels }, spec: template.spec };
}

interface WithTemplate {
  readonly template?: PodTemplateSpec;
  readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplateSpec } };
}

async function explainPod(
  { values }: Invocation,
  state: State,
  subject: Exclude<Subject, { verdict: Verdict }>,
): Promise<object> {
  if ('refused' in subject) return subject.refused;
  const removedNode = values.string('without-node') ?? '';
  const { client, extenders, profiles } = state;
  const copy = await state.copy(removedNode === '' ? state.snapshot : without(state.snapshot, removedNode));
  const copies = values.number('copies');
  const profile = profiles.find(({ schedulerName }) => schedulerName === subject.pod.spec.schedulerName);
  if (copies > 0 && profile !== undefined) {
    const { nodeName: _node, ...spec } = subject.pod.spec;
    return copiesOf(copy, { ...subject.pod, spec }, profile, copies);
  }
  const node = values.string('node') ?? '';
  const details = values.bool('nodes') ? { limit: Number.MAX_SAFE_INTEGER } : node === '' ? undefined : { node };
  const by = { profiles, extenders };
  const options = { copy, dialect: client.dialect, ...by, scores: 5, ...(details === undefined ? {} : { details }) };
  return explain(subject.pod, options);
}

async function nodeLeaves(invocation: Invocation, node: string, drain: boolean): Promise<number> {
  const { client, copy, profiles, snapshot } = await stateOf(invocation);
  if (!snapshot.nodes.some(({ metadata }) => metadata.name === node))
    throw new CommandError(`node "${node}" does not exist`);
  const options = { dialect: client.dialect, profiles, drain };
  const forecast = await leaving(await copy(without(snapshot, node)), snapshot, node, options);
  const form = invocation.values.string('output');
  invocation.out.write(form === 'json' || form === 'yaml' ? objectText(forecast, form) : leavingText(forecast, drain));
  return 0;
}

function print({ out, values }: Invocation, result: unknown): void {
  const form = values.string('output');
  if (form === 'json' || form === 'yaml') {
    out.write(objectText(result, form));
    return;
  }
  const results = (Array.isArray(result) ? result : [result]) as (Explanation | Verdict | CopiesForecast)[];
  const text = (each: (typeof results)[number]) => {
    if ('fit' in each) return copiesText(each);
    return 'object' in each ? verdictText(each) : explanationWithDetails(each);
  };
  out.write(results.map(text).join('\n'));
}

function explanationWithDetails(explanation: Explanation): string {
  const { details } = explanation;
  if (details === undefined) return explanationText(explanation);
  const lines = details.items.map((item) =>
    'fits' in item ? `  ${item.node}: takes it` : `  ${item.node}: ${item.plugin}: ${item.reasons.join(', ')}`,
  );
  return `${explanationText(explanation)}\nNode by node:\n${lines.join('\n')}\n`;
}

/** The API server's verdict on an object: a dry run that also overrides other field managers. */
async function verdictOf(api: Api, { object, resource, namespace }: Manifest): Promise<Verdict> {
  const { name = '' } = object.metadata;
  const query = { fieldManager, dryRun: 'All', fieldValidation: 'Strict' };
  const text = toJSONText(object);
  const answer = await (name === ''
    ? api.answer('POST', withQuery(collectionPath(resource, { namespace }), query), text, {
        'content-type': 'application/json',
      })
    : api.answer('PATCH', withQuery(objectPath(resource, name, { namespace }), { ...query, force: 'true' }), text, {
        'content-type': 'application/apply-patch+yaml',
      }));
  const { status, headers } = answer;
  const common = {
    object: objectName(resource, name === '' ? `${object.metadata.generateName ?? ''}…` : name),
    webhooks: webhooksIn(headers['server-timing']),
    warnings: warningsIn(headers['warning']),
  };
  if (status < 400) return { ...common, outcome: 'Accepted' };
  const failure = failureOf(status, answer.text).status;
  const { message = '' } = failure;
  return { ...common, outcome: 'Refused', step: stepOf(failure), message };
}

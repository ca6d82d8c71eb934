import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { type Api, collectionPath, failureOf, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { objectName } from '#cmd/orchctl/api/resources.js';
import { fieldManager } from '#cmd/orchctl/commands/apply.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { type Manifest, readManifests } from '#cmd/orchctl/commands/manifests.js';
import { stepOf, type Verdict, warningsIn, webhooksIn } from '#cmd/orchctl/commands/why/refusal.js';
import { type State, stateOf } from '#cmd/orchctl/commands/why/state.js';
import { copiesText, explanationText, leavingText, verdictText } from '#cmd/orchctl/commands/why/text.js';
import { objectText } from '#cmd/orchctl/print/object.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { notAdmitted } from '#scheduler/explain/admission.js';
import { explain } from '#scheduler/explain/explain.js';
import type { Explanation } from '#scheduler/explain/explanation.js';
import { type CopiesForecast, copiesOf, leaving, without } from '#scheduler/explain/forecast.js';

/** More copies than that are not counted. */
const maxCopies = 10_000;

/** What `orchctl why` prints; the exit code. Throws UsageError and CommandError. */
export async function answer(invocation: Invocation): Promise<number> {
  const { args, values } = invocation;
  const named = args.length > 0 || values.strings('filename').length > 0;
  const [drain, gone] = [values.string('drain') ?? '', values.string('without-node') ?? ''];
  if (drain !== '' && (gone !== '' || named))
    throw new UsageError('--drain goes with no pod and without --without-node');
  if (values.number('copies') > maxCopies) throw new UsageError(`--copies may be at most ${maxCopies}`);
  if (!named && drain === '' && gone === '')
    throw new UsageError('name a pod, a file, or a node: see orchctl why --help');
  if (values.bool('ask-scheduler') && notAsked.some((option) => values.given(option)))
    throw new UsageError(`--ask-scheduler goes with a pod that exists, and without --${notAsked.join(', --')}`);
  if (!named) return nodeLeaves(invocation, drain === '' ? gone : drain, drain !== '');
  if (values.bool('ask-scheduler')) return askScheduler(invocation);
  // The form of the arguments before anything is asked of the server.
  const name = values.strings('filename').length > 0 ? undefined : podName(args);
  const state = await stateOf(invocation);
  const subjects = name === undefined ? await fromFiles(invocation, state) : [await existing(invocation, state, name)];
  const results: object[] = [];
  for (const subject of subjects) {
    results.push('verdict' in subject ? subject.verdict : await tell(invocation, state, subject));
  }
  print(invocation, results.length === 1 ? results[0] : results);
  return 0;
}

/** What a scheduler does not tell of. */
const notAsked = ['filename', 'copies', 'without-node', 'drain', 'scheduler-config'];

/** What the scheduler itself says, from its own state and with its own profiles. */
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

/** A pod, or why there can be none, or what the API server says of something else. */
type Subject = { readonly pod: Pod } | { readonly refused: Explanation } | { readonly verdict: Verdict };

function podName(args: readonly string[]): string {
  const [type = '', name] = args.length === 1 && args[0]?.includes('/') === true ? args[0].split('/') : args;
  if (!['pod', 'pods', 'po'].includes(type) || name === undefined || name === '' || args.length > 2) {
    throw new UsageError('name one pod: orchctl why pod NAME');
  }
  return name;
}

async function existing({ namespace }: Invocation, { client }: State, name: string): Promise<Subject> {
  return { pod: await client.resource(pods).get(name, { namespace }) };
}

/** The pods of the files as the API server would create them. */
async function fromFiles(invocation: Invocation, { client }: State): Promise<Subject[]> {
  const manifests = await readManifests(invocation, await invocation.api.catalog());
  const subjects: Subject[] = [];
  for (const manifest of manifests) {
    const verdict = await verdictOf(invocation.api, manifest);
    const pod = podOf(manifest);
    // Where there are pods, these are what is asked for, unless webhooks have a say in what makes them.
    if (pod === undefined || verdict.webhooks.length > 0) subjects.push({ verdict });
    if (pod === undefined) continue;
    const { name = 'pod', namespace = '', ...metadata } = pod.metadata;
    const sent = { ...pod, metadata: { ...metadata, namespace, generateName: `${name}-` } };
    try {
      const made = await client.resource(pods).create(sent, { namespace, dryRun: true });
      subjects.push({ pod: { ...made, metadata: { ...made.metadata, name } } });
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      subjects.push({ refused: notAdmitted(pod, status.message ?? '', client.dialect.apiVersion('scheduling', 'v1')) });
    }
  }
  return subjects;
}

/** The pod itself, or the one that the object is to make; undefined for what makes none. */
function podOf({ namespace, object }: Manifest): Pod | undefined {
  const { metadata, spec } = object as { metadata: Pod['metadata']; spec?: Pod['spec'] & WithTemplate };
  const named = { name: metadata.name ?? '', namespace: namespace ?? '' };
  if (object.kind === 'Pod' && spec !== undefined) {
    const { annotations = {}, labels = {} } = metadata;
    return { apiVersion: 'v1', kind: 'Pod', metadata: { ...named, annotations, labels }, spec };
  }
  const template = spec?.template ?? spec?.jobTemplate?.spec?.template;
  if (template?.spec === undefined) return undefined;
  const { annotations = {}, labels = {} } = template.metadata ?? {};
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...named, annotations, labels }, spec: template.spec };
}

interface WithTemplate {
  readonly template?: PodTemplateSpec;
  readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplateSpec } };
}

async function tell(
  { values }: Invocation,
  state: State,
  subject: Exclude<Subject, { verdict: Verdict }>,
): Promise<object> {
  if ('refused' in subject) return subject.refused;
  const gone = values.string('without-node') ?? '';
  const { client, extenders, profiles } = state;
  const copy = await state.copy(gone === '' ? state.snapshot : without(state.snapshot, gone));
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
    throw new CommandError(`there is no node "${node}"`);
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
    return 'object' in each ? verdictText(each) : textOf(each);
  };
  out.write(results.map(text).join('\n'));
}

function textOf(explanation: Explanation): string {
  const { details } = explanation;
  if (details === undefined) return explanationText(explanation);
  const lines = details.items.map((item) =>
    'fits' in item ? `  ${item.node}: takes it` : `  ${item.node}: ${item.plugin}: ${item.reasons.join(', ')}`,
  );
  return `${explanationText(explanation)}\nNode by node:\n${lines.join('\n')}\n`;
}

/** What the API server says of an object: a dry run that changes nothing, and forces the fields of other managers. */
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
  const told = {
    object: objectName(resource, name === '' ? `${object.metadata.generateName ?? ''}…` : name),
    webhooks: webhooksIn(headers['server-timing']),
    warnings: warningsIn(headers['warning']),
  };
  if (status < 400) return { ...told, outcome: 'Accepted' };
  const failure = failureOf(status, answer.text).status;
  const { message = '' } = failure;
  return { ...told, outcome: 'Refused', step: stepOf(failure), message };
}

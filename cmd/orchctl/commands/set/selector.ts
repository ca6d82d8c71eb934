/** `set selector` of services, and `set subject` of bindings. */
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { ApiObject } from '#client/client.js';
import { sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { selectorObject } from '#cmd/orchctl/commands/create/selector-object.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { templateOptions } from '#cmd/orchctl/commands/set/pod-templates.js';
import { dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

const { selector: _selector, ...plainOptions } = templateOptions;

export const selector: Command = {
  name: 'selector',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) KEY=VALUE,…',
  summary: 'Set the selector of a service',
  examples: ['orchctl set selector service web app=web,tier=front'],
  completes: 'objects',
  options: plainOptions,
  async run(invocation) {
    const { args, values } = invocation;
    const text = args.at(-1);
    const isSelector = text !== undefined && (/[=!]|\bin\b/.test(text) || args.length > 1);
    if (!isSelector) throw new CommandError('one selector is required');
    const parsed = selectorObject(parseLabelSelector(text)) as { matchLabels?: object; matchExpressions?: unknown[] };
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select(invocation, { args: args.slice(0, -1), fromFiles: values.bool('local') });
    const print = await resultPrinter(invocation, dryRun);
    const failures = [...errors];
    for (const info of infos) {
      try {
        if (info.resource.kind !== 'Service') {
          throw new CommandError('setting a selector is only supported for Services');
        }
        if (parsed.matchExpressions !== undefined) {
          throw new CommandError('match expression is not supported on this object');
        }
        const spec = (info.object as ApiObject & { spec?: { selector?: object } }).spec ?? {};
        const removed = Object.fromEntries(Object.keys(spec.selector ?? {}).map((key) => [key, null]));
        const body = { spec: { selector: { ...removed, ...parsed.matchLabels } } };
        const changed = { ...info.object, spec: { ...spec, selector: parsed.matchLabels ?? {} } };
        const isLocal = values.bool('local') || dryRun === 'client';
        print(
          isLocal ? changed : await sendPatch(invocation, info, { type: 'merge', body, dryRun }),
          'selector updated',
        );
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    return 0;
  },
};

type Subject = { kind: string; apiGroup?: string; name: string; namespace?: string };

export const subject: Command = {
  name: 'subject',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) [--user NAME…] [--group NAME…] [--serviceaccount NAMESPACE:NAME…]',
  summary: 'Add subjects to a role binding',
  examples: ['orchctl set subject rolebinding readers --user=jane --group=devs'],
  completes: 'objects',
  options: {
    ...templateOptions,
    user: { type: 'stringArray', section: 'Content', meaning: 'User; may be repeated.' },
    group: { type: 'stringArray', section: 'Content', meaning: 'Group; may be repeated.' },
    serviceaccount: { type: 'stringArray', section: 'Content', meaning: 'NAMESPACE:NAME; may be repeated.' },
  },
  async run(invocation) {
    const { api, args, values } = invocation;
    if (values.bool('all') && values.isSet('selector')) {
      throw new CommandError('cannot set --all and --selector at the same time');
    }
    const [users, groups, accounts] = ['user', 'group', 'serviceaccount'].map((name) => values.strings(name)) as [
      readonly string[],
      readonly string[],
      readonly string[],
    ];
    if (users.length + groups.length + accounts.length === 0) {
      throw new CommandError('you must specify at least one value of user, group or serviceaccount');
    }
    const { dialect } = await api.catalog();
    const apiGroup = dialect.groupName('rbac');
    const added: Subject[] = [
      ...users.map((name) => ({ kind: 'User', apiGroup, name })),
      ...groups.map((name) => ({ kind: 'Group', apiGroup, name })),
      ...accounts.map((text) => accountOf(text)),
    ];
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select(invocation, { args, fromFiles: values.bool('local') });
    const print = await resultPrinter(invocation, dryRun);
    const failures = [...errors];
    for (const info of infos) {
      try {
        if (!info.resource.kind.endsWith('RoleBinding')) {
          throw new CommandError('setting subjects is only supported for RoleBinding/ClusterRoleBinding');
        }
        const present = (info.object as ApiObject & { subjects?: readonly Subject[] }).subjects ?? [];
        const missing = added.filter((each) => !present.some((other) => jsonEqual(each, other)));
        if (missing.length === 0) continue;
        const subjects = [...present, ...missing];
        const isLocal = values.bool('local') || dryRun === 'client';
        const changed = { ...info.object, subjects };
        print(
          isLocal ? changed : await sendPatch(invocation, info, { type: 'merge', body: { subjects }, dryRun }),
          'subjects updated',
        );
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    return 0;
  },
};

function accountOf(text: string): Subject {
  const [namespace = '', name = '', more] = text.split(':');
  if (name === '' || more !== undefined) throw new CommandError('serviceaccount must be <namespace>:<name>');
  if (namespace === '') {
    throw new CommandError('serviceaccount must be <namespace>:<name>, namespace must be specified');
  }
  return { kind: 'ServiceAccount', namespace, name };
}

/** `orchctl why VERB RESOURCE --as USER`: which bindings allow it or come nearest, and the smallest role that would. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import {
  type AccessExplanation,
  type ExplainedBinding,
  explainAccess,
} from '#apiserver/authorization/explain/explanation.js';
import { listRbac } from '#cmd/orchctl/commands/access/rbac-lists.js';
import { type ReviewedUser, type ReviewStatus, reviewAccess } from '#cmd/orchctl/commands/access/review.js';
import { type AccessTarget, targetOf, targetText } from '#cmd/orchctl/commands/access/target.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { objectText } from '#cmd/orchctl/print/object.js';

/** Returns the exit code. Throws UsageError. */
export async function explainUser(invocation: Invocation): Promise<number> {
  const { api, values, args, out, err } = invocation;
  const namespace = values.bool('all-namespaces') ? '' : invocation.namespace;
  const { target: typed, warnings } = await targetOf(invocation, args, namespace);
  for (const warning of warnings) err.write(`Warning: ${warning}\n`);
  const target = await scoped(invocation, typed);
  const { dialect } = await api.catalog();
  const user = subjectOf(invocation, dialect);
  const [status, objects] = await Promise.all([reviewAccess(api, target, user), listRbac(api)]);
  const request: AuthorizationAttributes = { ...target, user };
  const explanation = explainAccess(request, objects, dialect);
  const form = values.string('output');
  if (form === 'json' || form === 'yaml') {
    out.write(objectText({ user, ...status, ...explanation }, form));
    return 0;
  }
  out.write(answerText({ user, target, status, explanation, mayRead: objects !== undefined }));
  return 0;
}

/** Requests that create an object or delete a collection have no name, and those of cluster-wide types have no namespace. */
async function scoped({ api }: Invocation, target: AccessTarget): Promise<AccessTarget> {
  const isUnnamed = target.subresource === '' && ['create', 'deletecollection'].includes(target.verb);
  const unnamed = isUnnamed ? { ...target, name: '' } : target;
  const { all } = await api.catalog();
  const served = all.find(({ group, resource }) => group === target.group && resource === target.resource);
  return served?.namespaced === false ? { ...unnamed, namespace: '' } : unnamed;
}

const accountPrefix = 'system:serviceaccount:';

/** The user with the groups that impersonation would give. */
function subjectOf({ values }: Invocation, { groups: names }: Dialect): ReviewedUser {
  const name = values.string('as') ?? '';
  const groups = [...values.strings('as-group')];
  const [namespace] = name.startsWith(accountPrefix) ? name.slice(accountPrefix.length).split(':') : [];
  if (namespace !== undefined && groups.length === 0) {
    groups.push(names.serviceAccounts, `${names.serviceAccounts}:${namespace}`);
  }
  const isAnonymous = name === 'system:anonymous';
  const implied = isAnonymous ? names.unauthenticated : names.authenticated;
  if (!groups.includes(implied)) groups.push(implied);
  const uid = values.string('as-uid');
  return { name, groups, ...(uid === undefined ? {} : { uid }) };
}

export interface AccessAnswer {
  readonly user: ReviewedUser;
  readonly target: AccessTarget;
  readonly status: ReviewStatus;
  readonly explanation: AccessExplanation;
  /** Whether roles and bindings were read. */
  readonly mayRead: boolean;
}

/** Pure. */
export function answerText({ user, target, status, explanation, mayRead }: AccessAnswer): string {
  const { allowedBy, nearest, allowsOthers, grant } = explanation;
  const verdict = status.allowed === true ? 'can' : 'cannot';
  const lines = [`${user.name} ${verdict} ${targetText(target)}.`];
  if (status.reason !== undefined) lines.push(`The server says: ${status.reason}`);
  if (status.evaluationError !== undefined) lines.push(`The server could not decide: ${status.evaluationError}`);
  if (status.denied === true) lines.push('It is denied, so that no role can allow it.');
  if (!mayRead) lines.push('You may not list roles and bindings, so they are not shown.');
  lines.push(...section('Allowed by:', allowedBy), ...section(`The nearest bindings of ${user.name}:`, nearest));
  if (status.allowed === true) return `${lines.join('\n')}\n`;
  lines.push(...section('Bindings that allow it to others:', allowsOthers));
  if (grant === undefined) return `${lines.join('\n')}\n`;
  const yaml = [grant.role, grant.binding].map((object) => objectText(object, 'yaml')).join('---\n');
  return `${[...lines, '', 'The smallest role that allows it, with its binding:', ''].join('\n')}\n${yaml}`;
}

function section(title: string, bindings: readonly ExplainedBinding[]): string[] {
  if (bindings.length === 0) return [];
  const lines = bindings.map(({ kind, namespace, name, role, text }) => {
    const place = namespace === undefined ? name : `${namespace}/${name}`;
    return `  ${kind} ${place} (${role})${text === '' ? '' : `: ${text}`}`;
  });
  return ['', title, ...lines];
}

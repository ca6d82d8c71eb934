/** `auth can-i`: words, tables and exit codes of kubectl 1.24. */
import { reviewAccess } from '#cmd/orchctl/commands/access/review.js';
import { targetOf } from '#cmd/orchctl/commands/access/target.js';
import { listedRules, type RulesStatus } from '#cmd/orchctl/commands/auth/listed-rules.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

/** Returns 0 if it is allowed and 1 if it is not. Throws UsageError. */
export async function canI(invocation: Invocation, args: readonly string[]): Promise<number> {
  const { values, out, err, api } = invocation;
  if (values.bool('list')) return list(invocation, args);
  if (values.bool('no-headers')) throw new UsageError('--no-headers cannot be set without --list specified');
  if (args.length < 2 || args.length > 3) {
    throw new CommandError('you must specify two or three arguments: verb, resource, and optional resourceName');
  }
  // `VERB TYPE NAME` is an older form of `VERB TYPE/NAME`.
  const [verb = '', type = '', name] = args;
  const request = name === undefined ? args : [verb, `${type}/${name}`];
  const namespace = values.bool('all-namespaces') ? '' : invocation.namespace;
  const { target, warnings } = await targetOf(invocation, request, namespace);
  for (const warning of warnings) err.write(`Warning: ${warning}\n`);
  const { allowed = false, reason = '', evaluationError = '' } = await reviewAccess(api, target);
  if (!values.bool('quiet')) {
    const why = [reason, evaluationError].filter((text) => text !== '').map((text) => ` - ${text}`);
    out.write(allowed ? 'yes\n' : `no${why.join('')}\n`);
  }
  return allowed ? 0 : 1;
}

async function list(invocation: Invocation, args: readonly string[]): Promise<number> {
  const { values, out, err, api, namespace } = invocation;
  if (args.length > 0) throw new UsageError('list option must be specified with no arguments');
  if (values.bool('quiet') || values.bool('all-namespaces') || values.isSet('subresource')) {
    throw new UsageError("list option can't be specified with neither quiet, all-namespaces nor subresource options");
  }
  const { dialect } = await api.catalog();
  const apiVersion = dialect.apiVersion('authorization', 'v1');
  const kind = 'SelfSubjectRulesReview';
  const review = { apiVersion, kind, spec: { namespace } };
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
  const { status } = await api.json<{ readonly status: RulesStatus }>('POST', path, review);
  if (status.incomplete === true) {
    err.write(`warning: the list may be incomplete: ${status.evaluationError ?? ''}\n`);
  }
  const header = ['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs'];
  const rows = listedRules(status);
  const lines = alignColumns(values.bool('no-headers') ? rows : [header, ...rows]);
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
  return 0;
}

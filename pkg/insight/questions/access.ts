/** Why a user may not do something. Pure. */
import type { Answer } from '#insight/inquiry/finding.js';
import { finding } from '#insight/questions/parts.js';

/** A request as 1.24's access reviews have it. */
export interface RequestedAccess {
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: all of them, or none. */
  readonly namespace: string;
  readonly name: string;
  /** Of a request that is for no resource. */
  readonly path: string;
}

/** A binding of roles, and what it lacks, in a sentence. */
export interface NearPermission {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly role: string;
  readonly text: string;
}

export interface AccessDecision {
  readonly user: string;
  readonly request: RequestedAccess;
  readonly allowed: boolean;
  /** A denial that no role can lift. */
  readonly denied: boolean;
  readonly reason: string;
  /** What kept the server from deciding. */
  readonly error?: string | undefined;
  /** The bindings of the user that lack least; undefined: they are not known. */
  readonly nearest?: readonly NearPermission[] | undefined;
  /** Role and binding that would allow it. */
  readonly grant?: readonly object[] | undefined;
  readonly unreadable: readonly string[];
}

/** The answer about a request: a denied one is stuck. */
export function whyRequest(decision: AccessDecision): Answer {
  const { user, request, allowed, denied, reason, error, nearest = [], grant, unreadable } = decision;
  const subject = { kind: 'User', name: user };
  const what = requestText(request);
  if (allowed) {
    return { subject, verdict: 'Healthy', summary: `${user} may ${what}.`, findings: [], unreadable };
  }
  const refusal = finding({
    subject,
    reason: error === undefined ? 'RequestForbidden' : 'DecisionFailed',
    summary: `${user} may not ${what}.`,
    evidence: [
      ...(reason === '' ? [] : [{ source: 'status' as const, at: 'reason', text: reason }]),
      ...(error === undefined ? [] : [{ source: 'status' as const, at: 'evaluationError', text: error }]),
      ...nearest.map(({ kind, namespace, name, role, text }) => ({
        source: 'spec' as const,
        of: { kind, ...(namespace === undefined ? {} : { namespace }), name },
        at: role,
        text,
      })),
    ],
    remedies: denied
      ? [{ action: 'An authorizer denies it, so that no role can allow it: change what that authorizer reads.' }]
      : grant === undefined
        ? []
        : [
            {
              action: 'Let an administrator apply the smallest role that allows it, with its binding.',
              manifests: grant,
            },
          ],
  });
  return { subject, verdict: 'Stuck', summary: refusal.summary, findings: [refusal], unreadable };
}

/** `delete pods web in the namespace shop`. */
function requestText(request: RequestedAccess): string {
  const { verb, resourceRequest, group, resource, subresource, namespace, name, path } = request;
  if (!resourceRequest) return `${verb} the path ${path}`;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  const whole = subresource === '' ? qualified : `${qualified}/${subresource}`;
  const which = name === '' ? '' : ` ${name}`;
  return `${verb} ${whole}${which}${namespace === '' ? ' in the cluster' : ` in the namespace ${namespace}`}`;
}

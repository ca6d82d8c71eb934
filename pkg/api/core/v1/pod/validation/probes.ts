/** Rules of probes and lifecycle handlers. */
import type { Container, Lifecycle, Probe, ProbeHandler } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  checkEnum,
  checkNonNegative,
  checkPortNumberOrName,
  checkPositive,
  checkRequired,
} from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { httpHeaderNameErrors, portNumberErrors } from '#apimachinery/validation/identifiers.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** The three probes and the handlers of a container, also of one that may not have them. */
export function validateProbes(container: Container, path: FieldPath): FieldFailure[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  const failures: FieldFailure[] = [];
  if (lifecycle !== undefined) failures.push(...validateLifecycle(lifecycle, path.child('lifecycle')));
  failures.push(...validateProbe(livenessProbe, path.child('livenessProbe')));
  failures.push(...mustSucceedOnce(livenessProbe, path.child('livenessProbe')));
  if (readinessProbe?.terminationGracePeriodSeconds !== undefined) {
    const at = path.child('readinessProbe', 'terminationGracePeriodSeconds');
    failures.push(
      invalidValue(at, readinessProbe.terminationGracePeriodSeconds, 'must not be set for readinessProbes'),
    );
  }
  failures.push(...validateProbe(startupProbe, path.child('startupProbe')));
  failures.push(...mustSucceedOnce(startupProbe, path.child('startupProbe')));
  failures.push(...validateProbe(readinessProbe, path.child('readinessProbe')));
  return failures;
}

function mustSucceedOnce(probe: Probe | undefined, path: FieldPath): FieldFailure[] {
  if (probe === undefined || probe.successThreshold === 1) return [];
  return [invalidValue(path.child('successThreshold'), probe.successThreshold ?? 0, 'must be 1')];
}

function validateProbe(probe: Probe | undefined, path: FieldPath): FieldFailure[] {
  if (probe === undefined) return [];
  return [
    ...validateHandler(probe, path),
    ...(
      ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const
    ).flatMap((field) => checkNonNegative(path.child(field), probe[field])),
    ...checkPositive(path.child('terminationGracePeriodSeconds'), probe.terminationGracePeriodSeconds),
  ];
}

function validateLifecycle(lifecycle: Lifecycle, path: FieldPath): FieldFailure[] {
  const { postStart, preStop } = lifecycle;
  return [
    ...(postStart === undefined ? [] : validateHandler(postStart, path.child('postStart'))),
    ...(preStop === undefined ? [] : validateHandler(preStop, path.child('preStop'))),
  ];
}

function validateHandler(handler: ProbeHandler, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  let count = 0;
  /** Only the first handler is looked into: any further one is one too many. */
  const first = (field: string): boolean => {
    count++;
    if (count > 1) failures.push(forbiddenField(path.child(field), 'may not specify more than 1 handler type'));
    return count === 1;
  };
  const { exec, httpGet, tcpSocket, grpc } = handler;
  if (exec !== undefined && first('exec') && (exec.command ?? []).length === 0) {
    failures.push(required(path.child('exec', 'command')));
  }
  if (httpGet !== undefined && first('httpGet')) {
    const at = path.child('httpGet');
    failures.push(...checkRequired(at.child('path'), httpGet.path));
    failures.push(...checkPortNumberOrName(at.child('port'), httpGet.port));
    failures.push(...checkEnum(at.child('scheme'), httpGet.scheme, ['HTTP', 'HTTPS']));
    for (const header of httpGet.httpHeaders ?? []) {
      failures.push(
        ...invalidEach(at.child('httpHeaders'), header.name ?? '', httpHeaderNameErrors(header.name ?? '')),
      );
    }
  }
  if (tcpSocket !== undefined && first('tcpSocket')) {
    failures.push(...checkPortNumberOrName(path.child('tcpSocket', 'port'), tcpSocket.port));
  }
  if (grpc !== undefined && first('grpc')) {
    failures.push(...invalidEach(path.child('grpc', 'port'), grpc.port ?? 0, portNumberErrors(grpc.port ?? 0)));
  }
  if (count === 0) failures.push(required(path, 'must specify a handler type'));
  return failures;
}

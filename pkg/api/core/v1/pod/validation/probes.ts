/** Rules of probes and lifecycle handlers. */
import { declaration as schema } from '#api/core/v1/probe.js';
import type { Container, Lifecycle, Probe, ProbeHandler } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  checkEnum,
  checkNonNegative,
  checkPortNumberOrName,
  checkPositive,
  checkRequired,
} from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidEach, invalidValue, none, required } from '#apimachinery/validation/failure.js';
import { httpHeaderNameErrors, portNumberErrors } from '#apimachinery/validation/identifiers.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** The three probes and the handlers of a container, also of one that may not have them. */
export function validateProbes(container: Container, path: FieldPath): readonly FieldFailure[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  const failures: FieldFailure[] = [];
  if (lifecycle !== undefined) addLifecycle(failures, lifecycle, path.child('lifecycle'));
  if (livenessProbe !== undefined) {
    addProbe(failures, livenessProbe, path.child('livenessProbe'));
    addAll(failures, mustSucceedOnce(livenessProbe, path.child('livenessProbe')));
  }
  if (readinessProbe?.terminationGracePeriodSeconds !== undefined) {
    const at = path.child('readinessProbe', 'terminationGracePeriodSeconds');
    failures.push(
      invalidValue(at, readinessProbe.terminationGracePeriodSeconds, 'must not be set for readinessProbes'),
    );
  }
  if (startupProbe !== undefined) {
    addProbe(failures, startupProbe, path.child('startupProbe'));
    addAll(failures, mustSucceedOnce(startupProbe, path.child('startupProbe')));
  }
  if (readinessProbe !== undefined) addProbe(failures, readinessProbe, path.child('readinessProbe'));
  return failures;
}

function mustSucceedOnce(probe: Probe, path: FieldPath): readonly FieldFailure[] {
  if (probe.successThreshold === 1) return none;
  return [invalidValue(path.child('successThreshold'), probe.successThreshold ?? 0, 'must be 1')];
}

const counts = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

function addProbe(failures: FieldFailure[], probe: Probe, path: FieldPath): void {
  addHandler(failures, probe, path);
  for (const field of counts) addAll(failures, checkNonNegative(path.child(field), probe[field]));
  addAll(failures, checkPositive(path.child('terminationGracePeriodSeconds'), probe.terminationGracePeriodSeconds));
}

function addLifecycle(failures: FieldFailure[], { postStart, preStop }: Lifecycle, path: FieldPath): void {
  if (postStart !== undefined) addHandler(failures, postStart, path.child('postStart'));
  if (preStop !== undefined) addHandler(failures, preStop, path.child('preStop'));
}

function addHandler(failures: FieldFailure[], handler: ProbeHandler, path: FieldPath): void {
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
    addAll(failures, checkRequired(at.child('path'), httpGet.path));
    addAll(failures, checkPortNumberOrName(at.child('port'), httpGet.port));
    addAll(failures, checkEnum(at.child('scheme'), httpGet.scheme, schema.enums.URIScheme));
    for (const { name = '' } of httpGet.httpHeaders ?? []) {
      addAll(failures, invalidEach(at.child('httpHeaders'), name, httpHeaderNameErrors(name)));
    }
  }
  if (tcpSocket !== undefined && first('tcpSocket')) {
    addAll(failures, checkPortNumberOrName(path.child('tcpSocket', 'port'), tcpSocket.port));
  }
  if (grpc !== undefined && first('grpc')) {
    addAll(failures, invalidEach(path.child('grpc', 'port'), grpc.port ?? 0, portNumberErrors(grpc.port ?? 0)));
  }
  if (count === 0) failures.push(required(path, 'must specify a handler type'));
}

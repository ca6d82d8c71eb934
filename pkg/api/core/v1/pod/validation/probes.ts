/** Rules of probes and lifecycle handlers. */
import { declaration as schema } from '#api/core/v1/probe.js';
import type { Container, Lifecycle, Probe, ProbeHandler } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum, checkPortNumberOrName, checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, invalidEach, invalidValue, none, required } from '#apimachinery/validation/failure.js';
import { httpHeaderNameErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { exactlyOne } from '#apimachinery/validation/unions.js';

/** The probes and lifecycle handlers of a container, even where they are not allowed. */
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

const checkCounts = rangesOf(
  schema.types.Probe,
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
  'terminationGracePeriodSeconds',
);

/** Handlers of probes, and of lifecycle hooks, which have fewer types. */
const checkHandler = exactlyOne<ProbeHandler>(schema.types.ProbeHandler, 'handler type', {
  exec: ({ command = [] }, path) => (command.length === 0 ? [required(path.child('command'))] : none),
  httpGet(action, path) {
    const failures = [
      ...checkRequired(path.child('path'), action.path),
      ...checkPortNumberOrName(path.child('port'), action.port),
      ...checkEnum(path.child('scheme'), action.scheme, schema.enums.URIScheme),
    ];
    for (const { name = '' } of action.httpHeaders ?? []) {
      addAll(failures, invalidEach(path.child('httpHeaders'), name, httpHeaderNameErrors(name)));
    }
    return failures;
  },
  tcpSocket: ({ port }, path) => checkPortNumberOrName(path.child('port'), port),
  grpc: rangesOf(schema.types.GRPCAction, 'port'),
});

function addProbe(failures: FieldFailure[], probe: Probe, path: FieldPath): void {
  addAll(failures, checkHandler(probe, path, undefined));
  addAll(failures, checkCounts(probe, path));
}

function addLifecycle(failures: FieldFailure[], { postStart, preStop }: Lifecycle, path: FieldPath): void {
  if (postStart !== undefined) addAll(failures, checkHandler(postStart, path.child('postStart'), undefined));
  if (preStop !== undefined) addAll(failures, checkHandler(preStop, path.child('preStop'), undefined));
}

import t from 'tap';
import { apiServiceStrategy } from '#api/apiregistration/v1/apiservice/strategy.js';
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import type { Strategy } from '#api/strategy/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  withField,
} from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const strategy = apiServiceStrategy as unknown as Strategy;
const local: Draft = {
  metadata: { name: 'v1.example.com' },
  spec: { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15 },
};
const remote = withField(local, 'spec.service', { namespace: 'a', name: 'b' });

t.test('defaults, conditions and cells', (t) => {
  const near = created(strategy, local) as APIService;
  t.match(near.status?.conditions, [{ type: 'Available', status: 'True', reason: 'Local' }]);
  t.strictSame(strategy.cells?.(near, testContext), ['v1.example.com', 'Local', 'True', '<unknown>']);
  const far = copyJson(created(strategy, remote) as APIService);
  t.equal(far.spec.service?.port, 443);
  t.equal(far.status, undefined);
  t.strictSame(strategy.cells?.(far, testContext), ['v1.example.com', 'a/b', 'Unknown', '<unknown>']);
  far.status = { conditions: [{ type: 'Available', status: 'False', reason: 'MissingEndpoints' }] };
  t.equal(strategy.cells?.(far, testContext)[2], 'False (MissingEndpoints)');
  t.end();
});

t.test('API services are validated as in 1.24', (t) => {
  for (const draft of [local, remote, withField(remote, 'spec.caBundle', 'YQ==')]) {
    t.strictSame(createFailures(strategy, draft), []);
  }
  const rows: [draft: Draft, path: string, value: unknown, failure: RegExp][] = [
    [local, 'metadata.name', 'v2.example.com', /^metadata.name: .*must be `spec.version/],
    [local, 'spec.group', '', /^spec.group: Required value: only v1|^metadata.name/],
    [withField(local, 'spec.group', ''), 'spec.version', 'v2', /^spec.group: Required value: only v1/],
    [local, 'spec.group', 'A', /^spec.group: .*RFC 1123/],
    [local, 'spec.version', '1', /^spec.version: .*DNS-1035/],
    [local, 'spec.groupPriorityMinimum', 0, /groupPriorityMinimum: .*positive and less than 20000/],
    [local, 'spec.groupPriorityMinimum', 20001, /groupPriorityMinimum: .*positive and less than 20000/],
    [local, 'spec.versionPriority', 1001, /versionPriority: .*positive and less than 1000/],
    [local, 'spec.versionPriority', undefined, /versionPriority: .*positive and less than 1000/],
    [local, 'spec.caBundle', 'YQ==', /caBundle: Invalid value: "1 bytes": local APIServices/],
    [local, 'spec.insecureSkipTLSVerify', true, /insecureSkipTLSVerify: .*local APIServices/],
    [remote, 'spec.service.namespace', '', /service.namespace: Required/],
    [remote, 'spec.service.name', '', /service.name: Required/],
    [remote, 'spec.service.port', 70000, /service.port: .*port is not valid/],
    [withField(remote, 'spec.caBundle', 'YQ=='), 'spec.insecureSkipTLSVerify', true, /may not be true if caBundle/],
  ];
  for (const [draft, path, value, failure] of rows) {
    const failures = createFailures(strategy, withField(draft, path, value));
    t.ok(
      failures.some((text) => failure.test(text)),
      `${path} ${failure}`,
      { failures },
    );
  }
  t.match(statusFailures(strategy, remote, { new: { conditions: [{ type: 'Available', status: 'Maybe' }] } }), [
    /^status.conditions\[0\].status: Unsupported/,
  ]);
  t.end();
});

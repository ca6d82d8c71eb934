/** Lifecycle hooks of containers. Failures and their texts are release 1.24's (kubelet lifecycle/handlers.go). */
import type { LifecycleHandler } from '#api/core/v1/types.gen.js';
import type { Checker, CheckTarget } from '#nodeagent/probes/checker.js';

/** Runs one hook. Returns the failure's message, or undefined on success. Never rejects. */
export async function runHook(
  checker: Checker,
  hook: LifecycleHandler,
  { target, limitMs }: { target: CheckTarget; limitMs: number },
): Promise<string | undefined> {
  const { metadata } = target.pod;
  const pod = `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
  const subject = `for Container ${JSON.stringify(target.container.name)} in Pod ${JSON.stringify(pod)}`;
  if (hook.exec !== undefined) {
    const { success, error, output } = await checker.check({ exec: hook.exec }, target, limitMs);
    if (success) return undefined;
    const command = `[${(hook.exec.command ?? []).join(' ')}]`;
    return `Exec lifecycle hook (${command}) ${subject} failed - error: ${error ?? output}, message: ${JSON.stringify(output)}`;
  }
  if (hook.httpGet !== undefined) {
    // Scheme and headers apply only to probes.
    const { scheme: _, httpHeaders: __, ...httpGet } = hook.httpGet;
    const { success, statusCode, output } = await checker.check({ httpGet }, target, limitMs);
    // Any response counts as success, whatever its status.
    if (success || statusCode !== undefined) return undefined;
    return `Http lifecycle hook (${httpGet.path ?? ''}) ${subject} failed - error: ${output}, message: ""`;
  }
  return `Cannot run handler: invalid handler: ${JSON.stringify(hook)}`;
}

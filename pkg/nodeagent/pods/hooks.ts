/** Lifecycle hooks of containers. What fails them, and the words for it, are release 1.24's (kubelet lifecycle/handlers.go). */
import type { LifecycleHandler } from '#api/core/v1/types.gen.js';
import type { Checker, CheckTarget } from '#nodeagent/probes/checker.js';

/** Runs one hook; the message of its failure, undefined when it succeeded. Never rejects. */
export async function runHook(
  checker: Checker,
  hook: LifecycleHandler,
  { target, limitMs }: { target: CheckTarget; limitMs: number },
): Promise<string | undefined> {
  const { metadata } = target.pod;
  const pod = `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
  const whose = `for Container ${JSON.stringify(target.container.name)} in Pod ${JSON.stringify(pod)}`;
  if (hook.exec !== undefined) {
    const { success, error, output } = await checker.check({ exec: hook.exec }, target, limitMs);
    if (success) return undefined;
    const command = `[${(hook.exec.command ?? []).join(' ')}]`;
    return `Exec lifecycle hook (${command}) ${whose} failed - error: ${error ?? output}, message: ${JSON.stringify(output)}`;
  }
  if (hook.httpGet !== undefined) {
    // The scheme and headers are those of probes only.
    const { scheme: _, httpHeaders: __, ...httpGet } = hook.httpGet;
    const { success, statusCode, output } = await checker.check({ httpGet }, target, limitMs);
    // Any answer will do, whatever its status.
    if (success || statusCode !== undefined) return undefined;
    return `Http lifecycle hook (${httpGet.path ?? ''}) ${whose} failed - error: ${output}, message: ""`;
  }
  return `Cannot run handler: invalid handler: ${JSON.stringify(hook)}`;
}

/** What a process with node agents needs besides: loaded when the first one starts. */
export { cloudDependencies } from '#cluster/node-agent/cloud.js';
export { nodeDns } from '#cluster/node-agent/dns.js';
export { nodePodNetwork } from '#cluster/node-agent/pod-network.js';
export { nodeServiceProxy } from '#cluster/node-agent/service-proxy.js';
export { shutdownDependencies } from '#cluster/node-agent/shutdown.js';
export { NodeAgent } from '#nodeagent/nodeagent.js';
export { currentConfig } from '#nodeagent/options/config/configz.js';
export { applyConfigFile } from '#nodeagent/options/config/file.js';
export { noFileSettings } from '#nodeagent/options/config/file-only.js';
export { nodeAgentOptionRules, nodeAgentOptionTable } from '#nodeagent/options/options.js';
export { standardServer } from '#nodeagent/server/standard-server.js';

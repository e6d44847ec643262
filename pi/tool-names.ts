/** The tool by which a session has agents. */
export const agentToolName = 'agent'
/** The tool by which an agent asks its owner. */
export const askOwnerToolName = 'ask_owner'

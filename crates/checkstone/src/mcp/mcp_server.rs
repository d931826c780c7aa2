//! What the client is told and may call: the tools of the table, those that write only where the user switched them on.

use std::path::PathBuf;

use clap::CommandFactory as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use transcript::visible;

use super::consent::{Consent, OpenQuestions};
use super::offered_tool::OfferedTool;
use super::project::Project;
use super::tool_calls::{ToolCalls, refusal};
use super::tool_table::{Effect, TOOLS};
use crate::arguments::{Arguments, VERSION};
use crate::error::CommandError;
use crate::mcp_settings::McpSettings;

const INSTRUCTIONS: &str = "checkstone verifies what you did before you stop. Before you say that you are done, call `check`: it \
    lists the steps that are still required, in this repository's own commands. `unproven` lists what no run has proven yet.";

#[derive(Debug)]
pub(super) struct McpServer {
    tools: Vec<OfferedTool>,
    may_write: bool,
    project: Project,
    calls: ToolCalls,
    questions: OpenQuestions,
}

impl McpServer {
    pub(super) fn new(folder: PathBuf, is_named: bool, settings: &McpSettings) -> Self {
        let mut program = Arguments::command();
        program.build();
        Self {
            tools: TOOLS.iter().filter_map(|row| OfferedTool::new(row, &program)).collect(),
            may_write: settings.write,
            project: Project::new(folder, is_named),
            calls: ToolCalls::new(),
            questions: OpenQuestions::default(),
        }
    }

    pub(super) fn calls(&self) -> ToolCalls {
        self.calls.clone()
    }

    fn is_on(&self, tool: &OfferedTool) -> bool {
        self.may_write || tool.row.effect == Effect::Reads
    }

    async fn called(
        &self,
        tool: &OfferedTool,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, CommandError> {
        if !self.is_on(tool) {
            let name = tool.row.name;
            return Err(CommandError::refused(format!("`{name}` writes, which is switched off"))
                .hint("a person can set `write = true` in `[mcp]` of their own `config.toml`, and start the client again"));
        }
        let line = tool.command_line(request.arguments.as_ref().unwrap_or(&serde_json::Map::new()))?;
        let folder = self.project.folder(context).await;
        if tool.row.effect == Effect::Overwrites
            && let Consent::Wanted(question) = self.questions.ask(request, &line, &folder, context).await?
        {
            return Ok((*question).into());
        }
        Ok(self.calls.answer(line, folder, context).await?.into())
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("checkstone", VERSION))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let on = self.tools.iter().filter(|tool| self.is_on(tool));
        Ok(ListToolsResult::with_all_items(on.map(|tool| tool.definition.clone()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.row.name == request.name) else {
            let message = format!("there is no tool `{}`", visible(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        };
        let answer = self.called(tool, &request, &context).await;
        Ok(answer.unwrap_or_else(|error| refusal(&error).into()))
    }

    /// A method that is not known, or whose parameters are not of its form.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            "tools/call" => {
                let form = "`tools/call` needs a text `name`; `arguments` must be an object if given";
                ErrorData::invalid_params(form, None)
            }
            known @ ("initialize" | "ping" | "tools/list") => {
                ErrorData::invalid_params(format!("the parameters of `{known}` are not understood"), None)
            }
            unknown => {
                let message =
                    format!("there is no method `{}`: this server has tools only", visible(unknown));
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.project.forget_roots().await;
    }
}

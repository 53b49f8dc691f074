"""What the workbench tells the model."""

WRITE = (
    "Write a file. Creates it with its parent directories, or replaces it whole. Relative paths"
    " start at the working directory."
)
BASH = (
    "Run a command with bash in the working directory and give its output, stdout and stderr"
    " together, and its exit code. Each call is a process of its own: variables and cd do not"
    " carry over. There is no terminal and stdin is empty. The time limit is 120 seconds unless"
    " timeout (milliseconds, at most 600000) says otherwise."
)
SYSTEM = "Your working directory is {cwd}."
